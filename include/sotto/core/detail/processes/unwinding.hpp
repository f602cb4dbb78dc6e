#pragma once

#include <exception>

namespace sotto::detail {

/// Tells a destructor whether an exception that was thrown since this one was made ends the scope.
class unwinding {
public:
    /// Whether it does; for destructors.
    bool begun() const noexcept { return std::uncaught_exceptions() > before_; }

private:
    int before_ = std::uncaught_exceptions();
};

}  // namespace sotto::detail
