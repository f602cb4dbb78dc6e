#pragma once

namespace sotto::detail {

/// Transfers in use of an endpoint, from the oldest to the newest. It owns no memory: each transfer
/// links its neighbours by `older` and `newer`.
template <class Transfer>
class age_list {
public:
    /// Adds the newest transfer.
    void add(Transfer& t) noexcept {
        t.older = newest_;
        t.newer = nullptr;
        (newest_ ? newest_->newer : oldest_) = &t;
        newest_ = &t;
    }

    void remove(Transfer& t) noexcept {
        (t.older ? t.older->newer : oldest_) = t.newer;
        (t.newer ? t.newer->older : newest_) = t.older;
    }

    /// Null if there is none.
    Transfer* oldest() const noexcept { return oldest_; }

    /// Oldest receive for which `is_waiting(transfer)` is true. If there is none, the oldest such
    /// send; else null.
    ///   cost    linear in the transfers that are older than the result
    template <class Predicate>
    const Transfer* longest_waiting(Predicate is_waiting) const noexcept {
        const Transfer* send = nullptr;
        for (const Transfer* t = oldest_; t; t = t->newer) {
            if (!is_waiting(*t)) continue;
            if (!t->sends) return t;
            if (!send) send = t;
        }
        return send;
    }

private:
    Transfer *oldest_ = nullptr, *newest_ = nullptr;
};

}  // namespace sotto::detail
