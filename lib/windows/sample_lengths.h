#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/corpus/file.h"
#include "lib/corpus/say.h"
#include "lib/encode/pool.h"
#include "lib/windows/read_ahead.h"

namespace packline {

// How many tokens each sample of each record has after the job's policies, from one pass over all
// sources: kept in the state folder, 4 bytes a record of one sample, mapped, and used again by
// every job whose sources, encoder and policies are the same.
class SampleLengths {
 public:
  // One sample: its tokens, 0 when it is not packed; and whether it is a media sample.
  struct Length {
    std::uint32_t word = 0;
    std::uint32_t tokens() const { return word & ~kMedia; }
    bool media() const { return (word & kMedia) != 0; }
    static constexpr std::uint32_t kMedia = 1U << 31U;
  };

  // Reuses the file, or makes the pass while others wait for it.
  // `job.identity` must be filled in. Errors: those of reading and judging records (on_bad_record:
  // stop, over_long: error), and kWrongJob for the state folder's.
  static Result<SampleLengths> open(const Job& job, const Sources& sources, Encoders& encoders,
                                    const Say& say);

  // The samples of a record, in order; empty for none that is packed.
  std::span<const Length> of(std::uint32_t source, std::uint64_t record) const;

  // What it says of a record's samples after judging.
  static std::vector<Length> lengths_of(const Samples& samples,
                                        const std::vector<std::uint32_t>& packable);

 private:
  std::vector<std::uint64_t> first_;  // the number of each source's first record
  Mapping mapping_;
  std::span<const Length> records_;  // of each record its one sample, or kMany
  std::map<std::uint64_t, std::span<const Length>> many_;  // records of several samples
};

}  // namespace packline
