#pragma once

#include <string>

namespace sotto::detail::reporting {

/// Returns the page's only style sheet. Colours are those of Okabe and Ito, which remain distinct
/// with any common kind of colour blindness. They are darker on white and lighter on black, so that
/// thin lines have contrast. Runs also differ by dashes, parts of a step by their labels.
std::string style();

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/charts/report_style.ipp"
#endif
