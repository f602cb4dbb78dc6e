#pragma once

namespace sotto::detail {

/// Intrusive list of entries in the order of adding. It owns no memory.
template <class Entry>
class ordered_list {
public:
    void push_back(Entry& e) noexcept {
        e.before = last_;
        e.after = nullptr;
        (last_ ? last_->after : first_) = &e;
        last_ = &e;
        e.linked = true;
    }

    /// Inserts before another entry; null: at the end.
    void insert_before(Entry* other, Entry& e) noexcept {
        if (!other) return push_back(e);
        e.before = other->before;
        e.after = other;
        (other->before ? other->before->after : first_) = &e;
        other->before = &e;
        e.linked = true;
    }

    void unlink(Entry& e) noexcept {
        (e.before ? e.before->after : first_) = e.after;
        (e.after ? e.after->before : last_) = e.before;
        e.linked = false;
    }

    Entry* first() const noexcept { return first_; }

private:
    Entry* first_ = nullptr;
    Entry* last_ = nullptr;
};

}  // namespace sotto::detail
