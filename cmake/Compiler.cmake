# Warnings are errors for our own code; system headers are exempt. ccache and mold are used when present.
add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these falsely for coroutines and for inlined std::string and std::variant.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                      -Wno-stringop-overread -Wno-dangling-pointer -Wno-free-nonheap-object -Wno-mismatched-new-delete)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's own std::stable_sort calls what it has deprecated.
  add_compile_options(-Wno-deprecated-declarations)
endif()
if(CASSANDRA_LIKE_SANITIZE)
  # The check of vptr looks at an object through a pipe, and tests take all descriptors away.
  add_compile_options(-fsanitize=${CASSANDRA_LIKE_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=vptr)
  add_link_options(-fsanitize=${CASSANDRA_LIKE_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
