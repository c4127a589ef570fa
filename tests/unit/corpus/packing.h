#pragma once

#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Packs text as gzip and zstd do.

namespace packline::test {

// One member.
inline std::string gzip(std::string_view text, int level = 6) {
  z_stream z = {};
  REQUIRE(deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// One frame, with its size in the header, and a checksum, unless told otherwise.
inline std::string zstd(std::string_view text, bool says_size = true, int window_log = 0) {
  ZSTD_CCtx* c = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, says_size ? 1 : 0);
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
  if (window_log > 0) ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
  std::string out(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer in = {text.data(), text.size(), 0};
  ZSTD_outBuffer to = {out.data(), out.size(), 0};
  if (says_size) ZSTD_CCtx_setPledgedSrcSize(c, text.size());
  while (ZSTD_compressStream2(c, &to, &in, ZSTD_e_end) != 0) {
  }
  out.resize(to.pos);
  ZSTD_freeCCtx(c);
  return out;
}

// The text in several members or frames of about `bytes` each.
template <typename Pack>
std::string packed_in_pieces(std::string_view text, std::size_t bytes, const Pack& pack) {
  std::string out;
  do {
    out += pack(text.substr(0, bytes));
    text.remove_prefix(std::min(bytes, text.size()));
  } while (!text.empty());
  return out;
}

}  // namespace packline::test
