#pragma once

#include <span>

#include "lib/packing/closing.h"

namespace packline {

// The strategy `wrapped`: the candidates' tokens in order, cut at every capacity.
Closing close_wrapped(const PackSettings& settings, std::span<const Candidate> candidates,
                      bool at_end);

}  // namespace packline
