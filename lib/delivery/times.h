#pragma once

#include <chrono>

#include "lib/base/instant.h"

// The periods of the delivery protocol (docs/delivery.md). Those that a user may set are in the job
// file.

namespace packline {

struct DeliveryTimes {
  Duration report = std::chrono::milliseconds(200);  // also subscribe and notice; and on change
  Duration lease = std::chrono::seconds(5);          // deliver.lease_ms
  Duration pack_lease =
      std::chrono::milliseconds(400);         // a sent pack without progress is sent again
  Duration silent = std::chrono::seconds(3);  // a peer not heard for this long is not counted on
  Duration linger = std::chrono::seconds(4);
  Duration close = std::chrono::seconds(5);
  Duration drain = std::chrono::seconds(20);
  Duration warn_after = std::chrono::seconds(30);   // deliver.warn_after_s
  Duration fail_after = std::chrono::seconds(600);  // deliver.fail_after_s
};

}  // namespace packline
