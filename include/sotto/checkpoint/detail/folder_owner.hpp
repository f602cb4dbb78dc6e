#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/job_name.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/detail/processes/process_identity.hpp"

namespace sotto::detail::checkpoint {

/// Name of the file that stores which job writes into a folder of checkpoints.
inline constexpr std::string_view owner_name = "checkpoints.owner";

/// Interval at which an owner renews its claim.
inline constexpr duration renewal_period = std::chrono::seconds(10);
/// Time without a renewal after which another job can take the folder over.
inline constexpr duration renewal_max = std::chrono::seconds(60);
/// Interval between attempts to own a folder, while it is unknown if its owner lives.
inline constexpr duration attempt_period = std::chrono::seconds(1);

/// A process that claims a folder.
struct claimant {
    std::string job = job_of_process();  // same for all ranks and restarts of a job
    /// process that writes
    sotto::detail::process_identity process = sotto::detail::process_identity::own();
    std::string claim = random_name();      // distinguishes claims of one process
    std::optional<std::uint64_t> folder{};  // number of the folder on its disk, once claimed

    friend bool operator==(const claimant&, const claimant&) = default;

    /// Returns a description for messages.
    std::string text() const;
};

inline constexpr std::string_view owner_format = "sotto.folder_owner";

/// Returns the content of the file: one line a field. Texts are escaped, so each stays one line.
std::string owner_text(const claimant& who);

/// Reads what owner_text wrote; returns nothing for other or truncated texts. Earlier versions
/// wrote no number of the folder.
std::optional<claimant> read_owner(std::string_view text);

/// True if the text never was a claim. A crash may leave a truncated claim, or zeros.
bool is_foreign(std::string_view text) noexcept;

/// Claims of this process under which it trains at present.
class claims_in_use {
public:
    static void set(const std::string& claim, bool in_use);
    static bool has(const std::string& claim);

private:
    static std::mutex& mutex();
    static std::set<std::string>& all();
};

/// Result of an attempt to own a folder.
///   held     the claimant owns the folder now
///   waits    it is unknown if the owner lives: try again
///   refused  a living owner has the folder, or this user may not write there
///   failed   the disk failed; no owner is known
enum class ownership : std::uint8_t { held, waits, refused, failed };

/// The right to write into a folder, independent of the file layer.
class folder_claim {
public:
    folder_claim() = default;
    folder_claim(const folder_claim&) = delete;
    folder_claim& operator=(const folder_claim&) = delete;
    virtual ~folder_claim() = default;

    /// Tries to become the owner, without waiting. `why` names the present owner.
    virtual ownership attempt(std::string& why) = 0;
    /// Sets whether this process trains with the folder. If not, another trainer of this process
    /// may take the folder over.
    virtual void use(bool in_use) = 0;
    /// Returns why nothing may be written; empty if this claimant owns the folder. The caller is a
    /// writer that has locked the folder. A lost folder stays lost until the next attempt.
    virtual std::string problem() = 0;
};

/// Owns a folder from a successful attempt until destruction, so that no two jobs write into it.
/// The file `checkpoints.owner` in the folder names the owner. A thread renews the claim every 10
/// s, even while the program is busy: it sets the file's time of change.
///
/// A claimant takes over the folder of another owner:
///   - at once if the owner's process has ended, which is known only on the same machine and
///     container
///   - at once if the owner is of the same job, such as after a restart on another host. If the
///     owner's process is known to run, only after 60 s without a renewal
///   - otherwise after 60 s without a renewal
/// Both times are by the clock of the disk, so hosts need no common time. If that clock jumps, or
/// if another job's process is known to run, the claimant measures the 60 s itself, with its own
/// clock.
///
/// A claim contains the number that the disk gave the folder. In a copy of the folder, the claim of
/// an owner on this host is void. The claim of another host stays valid, because some disks number
/// a folder differently on each host.
///
/// If an owner was halted for longer, another claim may replace its own; the owner then stops
/// writing. A writer checks this before it writes and before its file appears. If a claim was
/// removed, for example with everything in the folder, the owner creates it again.
///
/// The lock of the folder separates claimants. Some file systems have no lock for folders, such as
/// NFS. There, only one host can create a new claim, because the file is created exclusively. Two
/// hosts that take over an old claim at the same moment may both believe to own it, until their
/// next check.
///   wire    text, see detail::owner_text
///   cost    a thread that wakes up every 10 s, reads the file and sets its time
///   errors  io_failure: the thread cannot be started. Failures of the disk are return values
class folder_owner final : public folder_claim {
public:
    /// Returns the state of a claim's process; tests replace it.
    using looks_at =
        std::function<sotto::detail::process_state(const sotto::detail::process_identity&)>;

    /// Requires that the folder exists. Claims nothing yet.
    folder_owner(disk files, const std::filesystem::path& folder, claimant who = {},
                 looks_at look = sotto::detail::process_identity::state_of);

    /// Releases the folder. In a child of fork() the folder stays with the parent.
    ~folder_owner() override;

    ownership attempt(std::string& why) override;

    void use(bool in_use) override { claims_in_use::set(who_.claim, in_use); }

    std::string problem() override;

    /// Renews the claim; called every 10 s.
    void renew() noexcept;

private:
    static constexpr std::size_t text_max = 4096;

    /// Returns the content of the file. If there is no file, returns nothing and no error.
    std::optional<std::string> read(std::error_code& why);

    /// `is_locked`: the caller has locked the folder.
    ownership try_to_own(std::string& why, bool is_locked);

    void lose(const std::string& to);

    /// Returns `refused` if this user may not write into the folder, because a retry cannot
    /// succeed.
    ownership fail(const char* what, std::error_code problem, std::string& why) const;

    std::string cannot(const char* what, std::error_code problem) const;

    /// Returns `held` if the claim in `text` can be taken over.
    ownership judge(const std::string& text, std::string& why);

    /// True if the claim of an owner on this host names another folder: this folder is a copy.
    bool is_of_copied_folder(const claimant& owner);

    /// Replaces the claim that was found there.
    ownership take(const std::optional<std::string>& before, std::string& why, bool is_locked);

    ownership is_busy(std::string& why);

    ownership take_locked(const std::optional<std::string>& before, std::string& why);

    struct sighting {
        std::string text;
        std::chrono::nanoseconds changed{};
        time_point since{};
    };

    disk files_;
    std::filesystem::path folder_, path_;
    claimant who_;
    std::string own_text_;
    looks_at look_;
    sotto::detail::owner_process process_;
    std::mutex mutex_;                      // guards all members below
    bool is_owner_ = false;                 // stays true after a loss: see lost_
    std::string lost_;                      // sentence that names the new owner
    std::optional<sighting> seen_;          // claim of another owner
    std::optional<time_point> busy_since_;  // since when another process has locked the folder
    std::shared_ptr<void> renewals_;
};

/// Repeats an attempt to own a folder once a second while `attempt` returns true, that is, while it
/// is unknown if the owner lives. `pauses`: this process waits between two attempts. A process that
/// only takes part in an attempt waits inside it. Each attempt must send messages or votes to the
/// processes that wait for this one, or they count it as late.
template <class Attempt>
void attempt_each_second(const disk& files, bool pauses, Attempt attempt) {
    while (attempt())
        if (pauses) files.pause(attempt_period);
}

/// Returns why no checkpoint may be written into a folder; empty if one may. `known` are the steps
/// of all checkpoints that this run has read or written there. Any other checkpoint belongs to a
/// run without a claim, and would be removed.
std::string why_not_write(const disk& files, const std::filesystem::path& folder,
                          folder_claim& owner, std::span<const std::int64_t> known);

/// Updates `known` after an attempt to write a checkpoint of this step: adds it and drops the steps
/// of removed checkpoints.
void note_written(const disk& files, const std::filesystem::path& folder, std::int64_t step,
                  std::vector<std::int64_t>& known);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/folder_owner.ipp"
#endif
