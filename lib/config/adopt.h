#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/config/job.h"
#include "lib/delivery/identity.h"

namespace packline {

// Fills job.identity and job.fingerprint from what a producer says of the job it runs, after every
// setting that this job file can answer without the data was found equal. `whom` names the
// producer. Error (kWrongJob): the first setting that differs, with both values; or an identity
// that does not have that fingerprint.
Status adopt_identity(Job& job, const Identity& told, std::uint64_t fingerprint,
                      const std::string& whom);

// Why the notices of a producer that runs another job than the adopted one are refused: one
// sentence that names the first setting that differs.
std::string other_job_sentence(const Job& adopted, const Identity& told, const std::string& whom);

}  // namespace packline
