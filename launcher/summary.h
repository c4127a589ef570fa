#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/delivery/progress.h"
#include "lib/telemetry/progress_json.h"

namespace packline {

// The counts of an epoch or of a whole run, as the summary and `packline count` print them.
struct Counts {
  std::uint64_t packs = 0;  // over all ranks
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;
  Ledger ledger;
  std::map<std::uint32_t, std::uint64_t> packs_by_rank;
  std::map<std::uint32_t, std::uint64_t> digest_by_rank;

  Counts& operator+=(const Counts& o);
};

// The keys of the summary that are counts, into a JSON object.
void put_counts(nlohmann::ordered_json& out, const Job& job, const Counts& c);
std::uint64_t lost_in_all(const Ledger& l);  // records and samples
// A line for each reason that lost something, indented; "" when nothing was lost.
std::string loss_lines(const Counts& c);

// Law L4, aloud: a sentence, with its newline, for each way in which more than 1 % was lost; else
// "".
std::string loss_warnings(const Job& job, const Counts& c);

struct EpochCounts {
  std::uint64_t epoch = 0;
  Counts counts;
};

struct Summary {
  Counts total;
  std::vector<EpochCounts> epochs;
  bool whole = false;                             // from the job's start to its end, on every rank
  std::map<std::string, std::uint64_t> restarts;  // by role
  double seconds = 0;
  std::string quarantine;  // folder
};

// Puts together what the ranks told; the job's dp_size and epochs say whether that is all of it.
Summary summarise(const Job& job, const std::vector<RankProgress>& ranks);

// Laws L3 and L4 in every epoch that all ranks were handed whole: equal packs on every rank, the
// same ledger on every rank, ledgers that balance. A sentence that names the epoch and both
// numbers.
Status check_epochs(const Job& job, const std::vector<RankProgress>& ranks);

// The JSON document of `--summary` (README.md, "The summary").
std::string summary_json(const Job& job, const Summary& s);
// A few lines for a person.
std::string summary_text(const Job& job, const Summary& s);

}  // namespace packline
