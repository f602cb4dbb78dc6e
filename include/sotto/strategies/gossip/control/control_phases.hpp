#pragma once

#include "sotto/core/require_option.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto {

/// One controller up to an epoch and another from then on; they nest:
/// `control_phases{consensus_control{}, 6.0, no_control{}}`.
///   errors  invalid_option: an epoch below 0, or not a number; what the two refuse
template <consensus_controller First, consensus_controller Then>
struct control_phases {
    First first{};       // up to the epoch
    double epoch = 0.0;  // passes over the data after which the other follows
    Then then{};         // from the epoch on

    static constexpr bool measures_exactly =
        detail::controlling::measures_exactly<First> || detail::controlling::measures_exactly<Then>;
    static constexpr bool estimates =
        detail::controlling::estimates<First> || detail::controlling::estimates<Then>;
    static constexpr bool takes_means =
        detail::controlling::takes_means<First> || detail::controlling::takes_means<Then>;
    static constexpr bool needs_rate =
        detail::controlling::needs_rate<First> || detail::controlling::needs_rate<Then>;
    class state;
    state bind() const { return state(*this); }
    constexpr bool needs_gap() const noexcept {
        return detail::controlling::needs_gap(first) || detail::controlling::needs_gap(then);
    }
    void describe(auto&& field) const {
        field("first", first);
        field("epoch", epoch);
        field("then", then);
    }
};

template <class First, class Then>
control_phases(First, double, Then) -> control_phases<First, Then>;

template <consensus_controller First, consensus_controller Then>
class control_phases<First, Then>::state {
public:
    explicit state(const control_phases& options)
        : epoch_(options.epoch), first_(options.first.bind()), then_(options.then.bind()) {
        require_option("control_phases", "epoch", epoch_, detail::allowed::at_least(0.0));
    }

    consensus_reading::measure needs(const round_info& where) const noexcept {
        return where.epoch < epoch_ ? first_.needs(where) : then_.needs(where);
    }
    bool wants_one(const round_info& where, double learning_rate) {
        return at(where, [&](auto& control) {
            return detail::controlling::wants_one(control, where, learning_rate);
        });
    }
    bool wants_mean(const round_info& where) const {
        return where.epoch < epoch_ ? detail::controlling::wants_mean(first_, where)
                                    : detail::controlling::wants_mean(then_, where);
    }
    bool wants_another(const consensus_reading& now) {
        return at(now.where, [&](auto& control) { return control.wants_another(now); });
    }
    double target(const consensus_reading& now) const {
        return now.where.epoch < epoch_ ? detail::controlling::target(first_, now)
                                        : detail::controlling::target(then_, now);
    }
    bool misses(const consensus_reading& now) const {
        return now.where.epoch < epoch_ ? detail::controlling::misses(first_, now)
                                        : detail::controlling::misses(then_, now);
    }
    void visit(auto&& field) requires(
        detail::controlling::can_be_saved<controller_state<First>>&&
            detail::controlling::can_be_saved<controller_state<Then>>) {
        detail::controlling::visit(first_, visitor_within(field, "first/"));
        detail::controlling::visit(then_, visitor_within(field, "then/"));
    }

private:
    template <class Ask>
    auto at(const round_info& where, Ask ask) {
        return where.epoch < epoch_ ? ask(first_) : ask(then_);
    }

    double epoch_;
    controller_state<First> first_;
    controller_state<Then> then_;
};

}  // namespace sotto
