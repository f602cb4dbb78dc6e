#pragma once

#include <exception>

namespace sotto::detail {

/// Detects in a destructor if an exception, thrown after construction, ends the scope.
class unwinding {
public:
    /// True if such an exception ends the scope; for destructors.
    bool begun() const noexcept { return std::uncaught_exceptions() > before_; }

private:
    int before_ = std::uncaught_exceptions();
};

}  // namespace sotto::detail
