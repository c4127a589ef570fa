#pragma once

#include "lib/config/findings.h"
#include "lib/config/job.h"

namespace packline {

// What holds between settings, once each is in its own range. Fills in what has another setting for
// its default (pack.dp_size_multiple, pack.seed). Looks at no file.
void check_rules(Job& job, Findings& findings);

// And of what is set aside for evaluation.
void check_eval(const Job& job, Findings& findings);

// The job of the records set aside: all of them in order, once an epoch, as long as somebody asks;
// on its own addresses.
void become_eval(Job& job);

// Of these, what holds between the settings of how samples are packed.
void check_packing(const Job& job, Findings& findings);

// Of these, what holds between the settings of each source.
void check_sources(const Job& job, Findings& findings);
// What the names of a source's files say to its settings; looks at no file but the other half of a
// Megatron pair.
void check_source_files(const Job& job, std::size_t i, Findings& findings);
// Whether a source is a pipe (its `pipe` is filled in), and what that says to all settings. Looks
// at what its files are, and does not open them.
void check_pipe(Job& job, std::size_t i, Findings& findings);

}  // namespace packline
