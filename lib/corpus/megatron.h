#pragma once

#include <cstdint>
#include <optional>

#include "lib/corpus/index.h"
#include "lib/corpus/say.h"
#include "lib/corpus/source.h"

// The index of a Megatron pair, NAME.idx beside NAME.bin:
//
//     9 bytes  "MMIDIDX\0\0"
//     u64      version, 1
//     u8       dtype of the ids: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 6 f64, 7 f32, 8 u16
//     u64      n, the number of sequences
//     u64      d, the number of entries of the document index, one more than there are documents
//     i32[n]   tokens of each sequence
//     i64[n]   its place in NAME.bin, in bytes
//     i64[d]   the first sequence of each document, and n
//     i8[n]    of some files: the mode of each sequence, which is not read
//
// all little-endian. Nothing in it is believed before it is held against the sizes of both files.

namespace packline {

struct MegatronHeader {
  RecordForm form = RecordForm::kI32;
  std::uint64_t sequences = 0;
  std::uint64_t documents = 0;
};

// Errors (kDataRefused): what is wrong with it. Checks the size of the file, not its arrays.
Result<MegatronHeader> read_megatron_header(const StreamFile& idx);

// Writes an entry for each record, its place in NAME.bin, which has `bin_bytes`. Reads the arrays
// once and holds little of them. Errors (kDataRefused): a place or a length outside of NAME.bin, a
// document index that does not go through the sequences in order, a document whose sequences do not
// lie one behind the other, a record over 2^32 - 1 bytes.
Status scan_megatron(const StreamFile& idx, const MegatronHeader& header, std::uint64_t bin_bytes,
                     RecordIs record, IndexWriter& out, const Say& say);

}  // namespace packline
