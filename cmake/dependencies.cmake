# Outside libraries, under one name each whatever the Debian release calls them.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)             # sentences: std::format is not in GCC 12
find_package(tl-expected REQUIRED)     # Result: std::expected is not in C++20
find_package(cppzmq REQUIRED)          # the sockets of the line
find_package(simdjson REQUIRED)        # JSON at memory speed
find_package(ZLIB REQUIRED)            # .gz sources
find_package(spdlog REQUIRED)          # logs
find_package(CLI11 REQUIRED)           # command lines
find_package(nlohmann_json REQUIRED)   # writing JSON: status, summary, tail
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)               # .zst sources
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)            # digests
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece) # a tokenizer
# Part of a job's identity: releases may tokenise differently.
target_compile_definitions(PkgConfig::sentencepiece INTERFACE PACKLINE_SENTENCEPIECE_VERSION="${sentencepiece_VERSION}")
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)         # /status
# Debian 13 builds it with OpenSSL and does not say so to the linker.
if("${httplib_CFLAGS}" MATCHES "OPENSSL")
  find_package(OpenSSL REQUIRED)
  target_link_libraries(PkgConfig::httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto)
endif()

find_package(msgpack-cxx QUIET)  # headers of messages; Debian 13's name
if(msgpack-cxx_FOUND)
  set(_msgpack msgpack-cxx)
else()
  find_package(msgpack REQUIRED)  # Debian 12's
  set(_msgpack msgpackc-cxx)
endif()
add_library(packline_msgpack INTERFACE)
target_link_libraries(packline_msgpack INTERFACE ${_msgpack})
target_compile_definitions(packline_msgpack INTERFACE MSGPACK_NO_BOOST)

find_package(yaml-cpp REQUIRED)  # job files
add_library(packline_yaml INTERFACE)
if(TARGET yaml-cpp::yaml-cpp)
  target_link_libraries(packline_yaml INTERFACE yaml-cpp::yaml-cpp)
else()
  target_link_libraries(packline_yaml INTERFACE yaml-cpp)
endif()
