// A user-written transport: ranks put letters into each other's boxes, in the memory of one
// process. Another medium needs another `box` and `send`; the contract of a transport stays the
// same.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// State that all ranks share.
struct post_office {
    struct letter {
        int from;
        sotto::tag label;
        sotto::bytes content;
    };
    struct box {
        std::deque<letter> letters;
        std::uint64_t changes = 0;
    };
    explicit post_office(int ranks) : boxes(std::size_t(ranks)) {}

    // The caller holds the lock. All ranks report the first rank that failed.
    void fail(int rank, const std::string& why) {
        if (failed < 0) failed = rank, cause = why;
        for (box& b : boxes) ++b.changes;
        changed.notify_all();
    }

    std::mutex lock;
    std::condition_variable changed;
    std::vector<box> boxes;
    int failed = -1;
    std::string cause;
    std::size_t votes = 0;
    std::uint64_t ballot = 0;
    bool all_for = true, verdict = false;
};

// The endpoint of one rank.
class by_letter {
public:
    by_letter(post_office& office, int rank) : office_(office), rank_(rank) {}

    int rank() const { return rank_; }
    int size() const { return int(office_.boxes.size()); }

    // `send` and `receive` only start a transfer. A send copies, so it is complete at once.
    sotto::request send(int to, sotto::tag label, sotto::byte_view out) {
        const std::scoped_lock hold(office_.lock);
        require_well();
        auto& box = office_.boxes.at(std::size_t(to));
        box.letters.push_back({rank_, label, {out.begin(), out.end()}});
        ++box.changes;
        office_.changed.notify_all();
        counted_.bytes_sent += std::int64_t(out.size());
        ++counted_.messages_sent;
        return add({.done = sotto::completion{rank_, std::int64_t(out.size())}});
    }
    sotto::request receive(int from, sotto::tag label, sotto::mutable_byte_view in) {
        return add({.from = from, .label = label, .in = in});
    }

    std::optional<sotto::completion> poll(sotto::request r) {
        const std::scoped_lock hold(office_.lock);
        require_well();
        return take(r);
    }
    sotto::completion wait(sotto::request r) {
        std::unique_lock hold(office_.lock);
        std::optional<sotto::completion> found;
        wait_until(hold, [&] { return (found = take(r)).has_value(); });
        return *found;
    }
    std::uint64_t activity() {
        const std::scoped_lock hold(office_.lock);
        return own_box().changes;
    }
    void await(std::uint64_t seen) {
        std::unique_lock hold(office_.lock);
        wait_until(hold, [&] { return own_box().changes != seen; });
    }

    // The last rank to vote decides. Either all ranks return the verdict or all throw.
    bool agree(bool vote) {
        std::unique_lock hold(office_.lock);
        require_well();
        const std::uint64_t mine = office_.ballot;
        office_.all_for = office_.all_for && vote;
        if (++office_.votes == office_.boxes.size()) {
            office_.verdict = std::exchange(office_.all_for, true);
            office_.votes = 0;
            ++office_.ballot;
            office_.changed.notify_all();
        }
        wait_until(hold, [&] { return office_.ballot != mine; });
        return office_.verdict;
    }

    // From now on the transport does not access the caller's memory.
    void withdraw() noexcept { transfers_.clear(), posted_.clear(); }
    void fail(std::string_view cause) noexcept {
        withdraw();
        const std::scoped_lock hold(office_.lock);
        office_.fail(rank_, std::string(cause));
    }
    void at(sotto::peer_failure::job_phase now) { occasion_ = now; }
    void reserve(std::int64_t count) { transfers_.reserve(std::size_t(count)); }
    sotto::time_point now() const { return std::chrono::steady_clock::now(); }
    void charge(sotto::work) {}
    sotto::traffic counters() const { return counted_; }

private:
    struct transfer {
        int from = 0;
        sotto::tag label{};
        sotto::mutable_byte_view in{};
        std::optional<sotto::completion> done{};
        bool spent = false;
    };

    post_office::box& own_box() { return office_.boxes[std::size_t(rank_)]; }

    sotto::request add(const transfer& made) {
        const auto free = std::ranges::find_if(transfers_, &transfer::spent);
        const auto slot = std::uint32_t(free - transfers_.begin());
        free == transfers_.end() ? void(transfers_.push_back(made)) : void(*free = made);
        if (!made.done) posted_.push_back(slot);
        return {.slot = slot};
    }

    // Matches letters with receives, both in their order. Returns the completion of `r`, if any.
    std::optional<sotto::completion> take(sotto::request r) {
        std::erase_if(posted_, [&](std::uint32_t slot) {
            transfer& wanted = transfers_[slot];
            auto& letters = own_box().letters;
            const auto found = std::ranges::find_if(letters, [&](const post_office::letter& l) {
                return l.label == wanted.label &&
                       (wanted.from == sotto::any_rank || wanted.from == l.from);
            });
            if (found == letters.end()) return false;
            if (found->content.size() > wanted.in.size()) {
                office_.fail(rank_, "a message is longer than the memory for it");
                throw sotto::mismatch(office_.cause);
            }
            std::ranges::copy(found->content, wanted.in.begin());
            wanted.done = {found->from, std::int64_t(found->content.size())};
            counted_.bytes_received += wanted.done->bytes;
            ++counted_.messages_received;
            letters.erase(found);
            return true;
        });
        transfer& asked = transfers_[r.slot];
        asked.spent = asked.done.has_value();
        return asked.done;
    }

    void require_well() const {
        if (office_.failed >= 0)
            throw sotto::peer_failure(office_.failed, office_.cause, occasion_);
    }

    // Every wait has a deadline. A halt of the process (Ctrl-Z, a debugger) extends it.
    void wait_until(std::unique_lock<std::mutex>& hold, auto&& reached) {
        sotto::deadline limit(now(), std::chrono::seconds(30));
        while (!reached()) {
            require_well();
            office_.changed.wait_until(hold, limit.next_look());
            if (limit.passed(now())) office_.fail(rank_, "it waited for 30 s in vain");
        }
    }

    post_office& office_;
    int rank_;
    std::vector<transfer> transfers_;
    std::vector<std::uint32_t> posted_;  // slots of incomplete receives, in order
    sotto::peer_failure::job_phase occasion_;
    sotto::traffic counted_;
};

static_assert(sotto::transport<by_letter>);

// Trains over any transport and returns the parameters, which are bit-identical on every rank.
std::vector<float> learn(auto& transport) {
    const auto digits = sotto::data::digits(1'000, sotto::random_stream{1});
    sotto::models::mlp model{784, 32, 10};
    sotto::trainer trainer{model, sotto::all_reduce{sotto::sgd{}, sotto::dgc{.density = 0.01}},
                           transport};
    trainer.fit(digits, sotto::epochs{2});
    return {trainer.parameters().begin(), trainer.parameters().end()};
}

int main() try {
    constexpr int ranks = 4;
    post_office office(ranks);
    std::vector<std::vector<float>> learnt(ranks);
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank)
            threads.emplace_back([&, rank] {
                by_letter transport(office, rank);
                try {
                    learnt[std::size_t(rank)] = learn(transport);
                } catch (...) {
                    sotto::fail_with_exception(transport);  // else the others wait for it
                    sotto::report_exception("rank " + std::to_string(rank));
                }
            });
    }
    std::vector<float> expected;
    sotto::run_in_process(ranks, [&](sotto::in_process& transport) {
        const auto found = learn(transport);
        if (transport.rank() == 0) expected = found;
    });
    const bool same = std::ranges::all_of(learnt, [&](const auto& l) { return l == expected; });
    std::puts(same ? "the same bits as over run_in_process"
                   : "other bits than over run_in_process");
    return same ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
