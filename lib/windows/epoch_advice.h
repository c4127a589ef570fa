#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/job.h"
#include "lib/packing/advice.h"
#include "lib/windows/cut_example.h"
#include "lib/windows/epoch_count.h"

namespace packline {

// What an epoch's count says about the job's settings.
struct Advice {
  std::vector<CapacityFit> capacities;  // ascending; the job's own among them
  std::size_t own = 0;                  // which of them is the job's
  std::optional<std::size_t> better;    // one that fills clearly better and loses no more

  // Fills, 0..1: of the job, of all samples planned at once, of the default look-ahead where the
  // job has less.
  double fill = 0, at_once = 0;
  std::optional<double> default_look_ahead;

  std::uint32_t dp_size = 1;
  StepBalance balance;
  std::optional<StepBalance> balanced;  // by balance: attention, where the job has not got it

  std::optional<CutExample> cut;  // a sample that is cut, where some are

  const CapacityFit& own_fit() const { return capacities[own]; }
};

// Opens sources again where samples were cut, to name one.
Advice advice_on(const Job& job, const EpochCount& count);

// A sentence a line, for a person: what the capacity costs, what look-ahead would bring, how equal
// the steps' work is.
std::vector<std::string> advice_sentences(const Job& job, const EpochCount& count,
                                          const Advice& advice);

// What should not be overlooked. `kind` is one word: too_few_packs, packs_without_labels,
// truncated, or the reason of a loss.
struct EpochWarning {
  std::string kind;
  std::string text;
};

// Most urgent first: too few packs for one optimizer step; packs that train nothing; for each
// reason more than 1 % lost (of tokens, samples or records) or cut, with its first example.
std::vector<EpochWarning> warnings_on(const Job& job, const EpochCount& count,
                                      const Advice& advice);

// What a sample of L tokens costs, for balance: "4096 L + L^2".
std::string cost_words(const PackSettings& settings);

// "12,288".
std::string grouped(std::uint64_t n);

}  // namespace packline
