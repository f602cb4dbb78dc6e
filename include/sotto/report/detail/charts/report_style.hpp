#pragma once

#include <string>

namespace sotto::detail::reporting {

/// The page's one style sheet. Colours are those of Okabe and Ito, which people with any common
/// kind of colour blindness tell apart, darker on white and lighter on black so that thin lines
/// have contrast. Runs differ by dashes as well, parts of a step by their labels.
std::string style();

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/charts/report_style.ipp"
#endif
