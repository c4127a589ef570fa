#include "lib/wire/messages.h"

#include "lib/base/check.h"

namespace packline {

std::string_view name_of(ErrorReason r) {
  switch (r) {
    case ErrorReason::kFenced:
      return "fenced";
    case ErrorReason::kOtherJob:
      return "other_job";
    case ErrorReason::kOtherDpSize:
      return "other_dp_size";
    case ErrorReason::kNotDivisible:
      return "not_divisible";
    case ErrorReason::kWrongRank:
      return "wrong_rank";
    case ErrorReason::kLineFailed:
      return "line_failed";
    case ErrorReason::kDataRefused:
      return "data_refused";
  }
  PL_CHECK(false);
}

}  // namespace packline
