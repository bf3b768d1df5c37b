# What llama-cpp-python compiles of llama.cpp: the library that is loaded, and nothing beside it. CMake reads this after
# that project's `project()`; a plain variable wins over the options, also over those that the project sets by force.

set(LLAVA_BUILD OFF)           # models that see or hear
set(LLAMA_BUILD_COMMON OFF)    # what llama.cpp's own programs share, with an HTTP client and a template engine
set(LLAMA_ALL_WARNINGS OFF)

# The loops that multiply are in ggml and stay at -O3. This only builds their graph and cuts texts into tokens.
if(NOT MSVC)
    cmake_language(DEFER CALL target_compile_options llama PRIVATE -O1)
endif()
cmake_language(DEFER CALL target_precompile_headers llama PRIVATE
    <algorithm> <cmath> <cstring> <functional> <map> <memory> <set> <sstream> <stdexcept> <string> <unordered_map> <vector>)
