/* main.c - the only piece of the tests inside the command: its main, called by theirs. */
#include "faults.h"

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

int __wrap_main(int argc, char **argv)
{
    return fault_main(__real_main, argc, argv);
}
