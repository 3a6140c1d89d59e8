# ${BLAS}: CBLAS and LAPACK with 32-bit integers. OpenBLAS where there is one; otherwise what pkg-config or CMake finds.
# -DEPIQ_BLAS="blis;lapack" names pkg-config modules instead. Calls must not start threads of their own: OpenBLAS is told so while
# a run lasts, of others take a sequential variant or set their variable (BLIS_NUM_THREADS=1, MKL_NUM_THREADS=1).
set(EPIQ_BLAS "" CACHE STRING "pkg-config modules of a CBLAS with LAPACK; empty: OpenBLAS, or else any that is found")
if(EPIQ_BLAS)
  pkg_check_modules(FOUND_BLAS REQUIRED IMPORTED_TARGET ${EPIQ_BLAS})
else()
  foreach(modules "openblas" "flexiblas" "blis;lapack" "cblas;lapack" "blas;lapack")
    pkg_check_modules(FOUND_BLAS QUIET IMPORTED_TARGET ${modules})
    if(FOUND_BLAS_FOUND)
      message(STATUS "BLAS: ${modules}")
      break()
    endif()
  endforeach()
endif()
if(TARGET PkgConfig::FOUND_BLAS)
  set(BLAS PkgConfig::FOUND_BLAS)
else()
  find_package(BLAS REQUIRED)
  find_package(LAPACK REQUIRED)
  set(BLAS LAPACK::LAPACK BLAS::BLAS)
endif()

include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES ${BLAS} m)
check_c_source_compiles("#include <cblas.h>
void dpotrf_(const char *, const int *, double *, const int *, int *);
int main(void) { int n = 0; double a = 0; dpotrf_(\"L\", &n, &a, &n, &n); return (int)cblas_ddot(0, &a, 1, &a, 1); }" EPIQ_BLAS_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT EPIQ_BLAS_LINKS)
  message(FATAL_ERROR "the BLAS that was found lacks cblas.h, CBLAS or LAPACK; name others with -DEPIQ_BLAS=MODULES, or install OpenBLAS")
endif()
