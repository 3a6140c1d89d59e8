/* verb_defaults.h - what epiq compare takes where nothing is given: the command line and the bindings read it here. */
#ifndef EPIQP_VERB_DEFAULTS_H
#define EPIQP_VERB_DEFAULTS_H

#define COMPARE_WIDTH "16,64,256,1024" /* lists of the models that are compared */
#define COMPARE_DEPTH "1"
#define COMPARE_LAMBDA "1e-5,1e-4,1e-3,1e-2"
#define COMPARE_BIAS "1"
#define COMPARE_MEMBERS "10"
#define COMPARE_ENSEMBLE_SIZE "5"

#endif
