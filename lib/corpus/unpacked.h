#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/result.h"
#include "lib/corpus/byte_stream.h"
#include "lib/corpus/file.h"
#include "lib/corpus/say.h"

namespace packline {

// A packed file's content as a file of the state folder.
struct Unpacked {
  std::string path;
  FileStamp packed;           // the packed file
  std::uint64_t content = 0;  // its content sample
  bool made = false;          // by this call, not reused
};

using FreeBytes = std::function<Result<std::uint64_t>(const std::string& folder)>;
Result<std::uint64_t> free_bytes(const std::string& folder);

// Unpacks `file` to `<state>/unpacked/<hash of its path>`, once: the copy is reused while the
// packed file has the same size and ctime, or the same size and content sample, and the copy is as
// it was left. What that was stands beside it, in `<hash>.note`, which is written last. A lock
// makes one process unpack it and the others wait.
//
// Says first what it unpacks and how large it is, as far as the file tells, then its progress.
// Errors: kDataRefused, the packed file is damaged; kWrongJob, the state folder cannot be written
// or its disk has not the room, which is looked at before and while it is written.
Result<Unpacked> unpack(const std::string& file, Compression compression,
                        const std::string& state_folder, const Say& say,
                        const FreeBytes& free = free_bytes);

constexpr std::uint64_t kFreeKept = std::uint64_t{64} << 20;  // bytes of the disk, left free

}  // namespace packline
