# Clang 19 cannot instrument coroutines for coverage and for errors at once, so fuzzers see the files that have any without
# coverage.
function(leave_coroutines_uncovered)
  if(CASSANDRA_LIKE_FUZZ)
    foreach(source ${ARGN})
      file(STRINGS ${source} found REGEX "co_await|co_return|CO_TRY" LIMIT_COUNT 1)
      if(found)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)
      endif()
    endforeach()
  endif()
endfunction()

# The release build compiles files in batches: half of a library's time and most of a test's goes into the headers that all of
# them include. So names in unnamed namespaces have to differ within a library and within a folder of tests; a test's helpers
# with common names live in a namespace that is called as the file. A batch includes its files by their paths below the project's
# folder, so that ccache finds its object from another checkout, too. It has the definitions of all its files.
function(compile_in_batches name files_in_a_batch)
  if(NOT CASSANDRA_LIKE_UNITY)
    return()
  endif()
  set(count 0)
  foreach(source ${ARGN})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    get_property(definitions SOURCE ${source} PROPERTY COMPILE_DEFINITIONS)
    math(EXPR batch "${count} / ${files_in_a_batch}")
    string(APPEND text_${batch} "#include \"${path}\"\n")
    list(APPEND definitions_${batch} ${definitions})
    math(EXPR count "${count} + 1")
  endforeach()
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  foreach(number RANGE ${batch})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_${number}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${number}}" @ONLY)
    list(REMOVE_DUPLICATES definitions_${number})
    set_property(SOURCE ${file} PROPERTY COMPILE_DEFINITIONS ${definitions_${number}})
    target_sources(${name} PRIVATE ${file})
  endforeach()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE
      -Wno-subobject-linkage  # a coroutine's locals in an unnamed namespace
      --param=large-unit-insns=1000000)  # GCC inlines as much in a batch as in a file
  endif()
endfunction()

# Code that no request of a client runs through is optimized as little as debuggers like it, which compiles in half the time.
function(compile_quickly name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Og>)
endfunction()

# One folder, one library:
#   add_folder(model DEPENDS base LINK absl::btree [FOLDERS sub ...])
# Every .cc directly in the folder (and in the named sub-folders) belongs to it.
function(add_folder name)
  cmake_parse_arguments(F "" "" "DEPENDS;LINK;FOLDERS" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(sub ${F_FOLDERS})
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${sub}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    add_library(${name} STATIC ${sources})
    compile_in_batches(${name} 20 ${sources})
    leave_coroutines_uncovered(${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${name} PUBLIC ${F_DEPENDS} ${F_LINK})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${name} INTERFACE ${F_DEPENDS} ${F_LINK})
  endif()
endfunction()

# SOURCE_DIR is the project's folder, for the files that use it: ccache finds no object that was compiled with another one.
function(name_source_dir)
  foreach(source ${ARGN})
    file(STRINGS ${source} found REGEX "SOURCE_DIR|parser_data.h" LIMIT_COUNT 1)
    if(found)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
endfunction()

# The tests' headers of libraries are compiled once, where files are compiled in batches: they are half of a test's time. A file
# includes all that it needs nevertheless: the other builds have no such header. ccache needs the options and pch_defines.
function(use_common_headers name)
  if(CASSANDRA_LIKE_UNITY)
    target_compile_options(${name} PRIVATE $<IF:$<CXX_COMPILER_ID:GNU>,-fpch-preprocess,SHELL:-Xclang -fno-pch-timestamp>)
    target_precompile_headers(${name} ${ARGN})
  endif()
endfunction()

# One folder of tests, one program: add_folder_tests(model_test LINK model) makes build/<preset>/model_test of the *.cc in it,
# but for those that tests/support makes a library of.
function(add_folder_tests name)
  cmake_parse_arguments(T "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(fixture|ast_printer|function_fixture|harness|recorded_schema)\\.cc$")
  if(sources)
    add_executable(${name} ${sources})
    leave_coroutines_uncovered(${sources})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
    name_source_dir(${sources})
    compile_in_batches(${name} 8 ${sources})
    target_compile_options(${name} PRIVATE ${CASSANDRA_LIKE_TEST_FLAGS})
    use_common_headers(${name} REUSE_FROM common_headers)
    target_link_libraries(${name} PRIVATE ${T_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
  endif()
endfunction()
