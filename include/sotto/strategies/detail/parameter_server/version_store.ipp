#pragma once

#include "sotto/strategies/detail/parameter_server/version_store.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL version_store::version_store(int workers, std::size_t parameters)
    : kept_(1), read_by_(static_cast<std::size_t>(workers), nobody) {
    kept_[0].values.resize(parameters);
}

SOTTO_DECL std::span<float> version_store::change() {
    if (kept_[now_].readers > 0) {
        const std::size_t other = unused();
        kept_[other].values.assign(now().begin(), now().end());
        now_ = other;
    }
    return kept_[now_].values;
}

SOTTO_DECL std::span<float> version_store::next(int worker) {
    const std::size_t read = worker < 0 ? nobody : read_by_[static_cast<std::size_t>(worker)];
    if (read != nobody && kept_[read].readers == 1) {
        next_ = kept_[now_].readers == 0 ? now_ : read;
    } else {
        next_ = kept_[now_].readers == 0 ? now_ : unused();
        kept_[next_].values.resize(kept_[now_].values.size());
    }
    return kept_[next_].values;
}

SOTTO_DECL void version_store::step(int worker) noexcept {
    if (worker >= 0) release(worker);
    now_ = next_;
}

SOTTO_DECL std::span<const float> version_store::read(int worker) noexcept {
    release(worker);
    ++kept_[now_].readers;
    read_by_[static_cast<std::size_t>(worker)] = now_;
    return now();
}

SOTTO_DECL std::span<const float> version_store::of(int worker) const noexcept {
    const std::size_t at = read_by_[static_cast<std::size_t>(worker)];
    return at == nobody ? std::span<const float>() : std::span<const float>(kept_[at].values);
}

SOTTO_DECL void version_store::release(int worker) noexcept {
    std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
    if (at != nobody) --kept_[at].readers;
    at = nobody;
}

SOTTO_DECL void version_store::free_unused() noexcept {
    for (std::size_t at = 0; at < kept_.size(); ++at)
        if (at != now_ && kept_[at].readers == 0) large_vector<float>().swap(kept_[at].values);
}

SOTTO_DECL std::span<float> version_store::own(int worker) {
    std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
    if (at == nobody || at == now_ || kept_[at].readers > 1) {
        release(worker);
        const std::size_t other = unused();
        kept_[other].values.assign(now().begin(), now().end());
        ++kept_[other].readers;
        at = other;
    }
    return kept_[at].values;
}

SOTTO_DECL std::size_t version_store::memory() const noexcept {
    std::size_t sum = 0;
    for (const version& v : kept_) sum += v.values.capacity() * sizeof(float);
    return sum;
}

SOTTO_DECL std::size_t version_store::unused() {
    std::size_t at = 0;
    while (at < kept_.size() && (kept_[at].readers > 0 || at == now_)) ++at;
    if (at == kept_.size()) kept_.emplace_back();
    return at;
}

}  // namespace sotto::detail
