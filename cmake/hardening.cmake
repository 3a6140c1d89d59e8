# What makes a mistake in memory an end with a message instead of a way in. It costs no time that can be measured
# (docs/testing.md); tests/hardening.sh looks for it in what was built. Flags that a compiler does not know are left out.
# Not under a sanitizer, which watches the same itself: gcc 12 with -fstack-protector-strong misaligns vectors of 64 bytes in the
# frames that AddressSanitizer keeps apart (detect_stack_use_after_return).
include(CheckCCompilerFlag)
include(CheckPIESupported)
option(EPIQ_HARDEN "build with stack protectors, fortified string functions, and addresses that cannot be guessed" ON)
set(EPIQ_FORTIFIED OFF)
if(EPIQ_HARDEN AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  check_pie_supported(LANGUAGES C)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      add_compile_options(${flag})
    endif()
  endforeach()
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
  if(flags MATCHES "-O[123s]" AND NOT flags MATCHES "-O0") # without optimisation glibc does not know the sizes
    set(EPIQ_FORTIFIED ON)
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
endif()
