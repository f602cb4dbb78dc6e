#pragma once

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/mpi/mpi_session.hpp"
#include "sotto/transports/detail/packets/staged_collectives.hpp"
#include "sotto/transports/mpi_options.hpp"
#include "sotto/transports/packet_library.hpp"

namespace sotto::detail::mpi {

/// MPI's collectives on a separate communicator. So several collectives can be in flight that ranks
/// start in different orders. Making the communicator is the first call in flight.
class calls {
public:
    explicit calls(MPI_Comm among);

    bool done();

    void barrier() { require_success(MPI_Ibarrier(*own_, &request_), "MPI_Ibarrier"); }

    void broadcast(mutable_byte_view values, int root);

    void all_gather(const int& own, std::span<int> all);

    void all_gather(byte_view own, std::span<const int> lengths, mutable_byte_view all, int apart);

    void disconnect() noexcept { MPI_Comm_free(own_.get()); }

private:
    // MPI writes the communicator there while it is made, so it must not move.
    std::unique_ptr<MPI_Comm> own_ = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
    MPI_Request request_ = MPI_REQUEST_NULL;
    std::vector<int> offsets_;
};

using collective = net::staged_collective<calls>;
using native_barrier = net::staged_barrier<calls>;
using native_broadcast = net::staged_broadcast<calls>;
using native_all_gather = net::staged_all_gather<calls>;

/// Terms of a collective, which must be equal on all ranks.
struct collective_terms {
    enum class kind : std::uint8_t { barrier, broadcast, all_gather };

    kind what = kind::barrier;
    int root = 0;  // root of a broadcast
    std::int64_t bytes_max = 0;

    friend bool operator==(const collective_terms&, const collective_terms&) = default;
};

/// MPI as a packet_library, on its own communicator: it never mixes with the program's own
/// messages.
class library {
public:
    using operation = MPI_Request;
    struct packet {
        int source = 0;
        std::size_t size = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
    };

    static constexpr const char* name = "mpi";
    static constexpr bool drains = true;
    static constexpr bool may_lack_content = false;
    static constexpr bool copies = false;

    library(std::shared_ptr<session> entered, MPI_Comm among, const mpi_options& options);
    library(const library&) = delete;
    library& operator=(const library&) = delete;

    ~library();

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }

    operation send(int to, net::packet_kind kind, byte_view out);

    std::optional<packet> next(net::packet_kind kind);

    operation receive(packet came, mutable_byte_view in);

    bool complete(operation& in_flight);

    static constexpr std::size_t packet_bytes_max() noexcept { return std::size_t{64} << 20; }

    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    void asked_in_vain() const noexcept {}
    void pause(duration waited, bool moves, time_point) const;
    /// MPI does not report that a rank died.
    std::optional<net::packet_loss> next_loss() const { return std::nullopt; }
    std::optional<int> next_arrival() const noexcept { return std::nullopt; }
    void served_by(const std::function<bool()>&) const noexcept {}

    bool advance();

    bool busy() const noexcept;

    void require_caller() const { session_->require_caller(); }

    void end_job(std::string_view why) noexcept;

    /// Makes one more collective, which all ranks make at the same time. Returns null if messages
    /// are as good, or if ranks want different ones: messages do not depend on equal sizes.
    ///   errors  error (timed_out): not all ranks want one
    template <class Collective, class... From>
    Collective* make(const collective_terms& terms, const From&... from) {
        if (size_ == 1 || collectives_.size() == collectives_max) return nullptr;
        deadline limit(now(), join_);
        for (const collective_terms& wanted : gather(terms, limit, making))
            if (wanted != terms) return nullptr;
        if (terms.bytes_max > INT_MAX / size_) return nullptr;
        // One at a time: with two in flight, Open MPI 4.1 hangs now and then.
        calls its(*own_);
        finish([&] { return its.done(); }, limit,
               [&] { keep(std::make_shared<calls>(std::move(its))); }, making);
        auto made = std::make_unique<Collective>(std::move(its), from...);
        Collective* const lent = made.get();
        collectives_.push_back(std::move(made));
        return lent;
    }

    const std::vector<std::unique_ptr<collective>>& collectives() const noexcept;

private:
    // Each takes one of the 2000 communicators that some libraries have.
    static constexpr std::size_t collectives_max = 256;

    static void require_ranks(MPI_Comm among);

    static constexpr const char* joining = "joins, and not all others came in time";
    static constexpr const char* making = "makes a collective, and not all ranks do";

    /// Blocks until a call is complete. If that takes too long, it keeps the memory that the call
    /// uses.
    template <class Done, class Keep>
    void finish(Done done, deadline& limit, Keep keep_used, const char* what) {
        while (!done()) {
            if (limit.passed(now())) {
                keep_used();
                session_->spoil();
                throw error(errc::timed_out, "mpi: rank " + std::to_string(rank_) + " of " +
                                                 std::to_string(size_) + " " + what +
                                                 "; mpi_options::join sets the limit");
            }
            std::this_thread::yield();
        }
    }

    /// Gathers a value from every rank.
    template <class Said>
    std::vector<Said> gather(const Said& mine, deadline& limit, const char* what) {
        struct lent {
            Said own;
            std::vector<Said> all;
        };
        const auto used =
            std::make_shared<lent>(lent{mine, std::vector<Said>(static_cast<std::size_t>(size_))});
        MPI_Request request = MPI_REQUEST_NULL;
        require_success(MPI_Iallgather(&used->own, sizeof(Said), MPI_BYTE, used->all.data(),
                                       sizeof(Said), MPI_BYTE, *own_, &request),
                        "MPI_Iallgather");
        finish([&] { return complete(request); }, limit, [&] { keep(used); }, what);
        return std::move(used->all);
    }

    void require_agreement(const mpi_options& options, deadline& limit);

    owner_process owner_;
    std::shared_ptr<session> session_;
    duration join_;
    std::shared_ptr<MPI_Comm> own_ = std::make_shared<MPI_Comm>(MPI_COMM_NULL);  // as in `calls`
    int rank_ = 0;
    int size_ = 1;
    std::vector<std::unique_ptr<collective>> collectives_;
};

static_assert(net::packet_library<library>);

}  // namespace sotto::detail::mpi

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/mpi/mpi_library.ipp"
#endif
