#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace sotto::detail {

/// The process that made an object. A child of fork() has a copy of the object but none of its
/// threads, and shares connections with the parent. The parent continues to use them, so the
/// destructor of the copy must not wait for threads, lock or send.
class owner_process {
public:
    /// Returns false in a child of fork().
    bool is_this() const noexcept { return ::getpid() == id_; }

private:
    ::pid_t id_ = ::getpid();
};

/// A value that only its own process destroys. A child of fork() leaves the value alone: there,
/// destructors of threads, of objects that wait for threads and of condition variables may never
/// return.
template <class T>
class owned_by_process {
public:
    owned_by_process() requires(std::is_default_constructible_v<T>) : value_() {}
    explicit owned_by_process(T value) : value_(std::move(value)) {}
    owned_by_process(owned_by_process&& other) noexcept : value_(std::move(other.value_)) {}
    owned_by_process& operator=(owned_by_process&& other) noexcept {
        value_ = std::move(other.value_);
        return *this;
    }
    /// Makes this process the owner. A child of fork() does not destroy the value of its parent.
    owned_by_process& operator=(T value) requires std::is_move_assignable_v<T> {
        if (owner_.is_this()) {
            value_ = std::move(value);
        } else {
            std::construct_at(&value_, std::move(value));
            owner_ = owner_process();
        }
        return *this;
    }
    ~owned_by_process() {
        if (owner_.is_this()) std::destroy_at(&value_);
    }

    /// Returns false in a child of fork(), which must not use the value.
    bool is_of_this_process() const noexcept { return owner_.is_this(); }

    T& operator*() noexcept { return value_; }
    const T& operator*() const noexcept { return value_; }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

private:
    owner_process owner_;
    union {
        T value_;
    };
};

}  // namespace sotto::detail
