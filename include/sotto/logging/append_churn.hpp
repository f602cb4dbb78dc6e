#pragma once

#include <string>

#include "sotto/models/churn.hpp"

namespace sotto {

/// Appends to the log of a run how much predictions changed from its model to another one. The
/// report draws it.
/// `append_churn("run.jsonl", "the same with another seed", churn_between(a, b, 10))`.
///   wire    one JSON line: event "churn", to, difference, flips, examples
///   errors  io_failure, naming the file and the system's reason: the log does not exist or cannot
///           be written
void append_churn(const std::string& log, const std::string& to, const churn& found);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/append_churn.ipp"
#endif
