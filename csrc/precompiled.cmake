# The standard library's headers are compiled once for all of csrc, which takes a quarter off the time to build it with
# sanitizers. Programs and libraries have other flags, hence two of them. The Python modules are built without: there each
# file has to include what it uses.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp CONTENT "int main() { return 0; }\n")
add_library(precompiled_library STATIC ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp)
add_executable(precompiled_program ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp)
set(precompiled_headers
  <algorithm> <array> <atomic> <bit> <cerrno> <chrono> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional>
  <random> <span> <string> <string_view> <system_error> <thread> <tuple> <unordered_map> <utility> <vector>)
foreach(kind library program)
  target_precompile_headers(precompiled_${kind} PRIVATE ${precompiled_headers})
endforeach()

function(use_precompiled folder)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner ${folders})
    use_precompiled(${inner})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    # those in C have no use of them, the subjects are built without sanitizers
    if(target MATCHES "^precompiled_|_subject_" OR sources MATCHES "\\.c(;|$)" OR NOT sources MATCHES "\\.cpp(;|$)")
      continue()
    endif()
    if(type STREQUAL "EXECUTABLE")
      target_precompile_headers(${target} REUSE_FROM precompiled_program)
    else()
      target_precompile_headers(${target} REUSE_FROM precompiled_library)
    endif()
  endforeach()
endfunction()
use_precompiled(${PROJECT_SOURCE_DIR})
