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

/// The file that says who writes into a folder of checkpoints.
inline constexpr std::string_view owner_name = "checkpoints.owner";

/// How often an owner shows that it lives.
inline constexpr duration renewal_period = std::chrono::seconds(10);
/// An owner that has not shown that for so long loses the folder to a job that asks for it.
inline constexpr duration renewal_max = std::chrono::seconds(60);
/// From one attempt to own a folder to the next, while it is not known whether its owner lives.
inline constexpr duration attempt_period = std::chrono::seconds(1);

/// Who claims a folder.
struct claimant {
    std::string job = job_of_process();  // the same for all ranks and restarts of a job
    /// The process that writes.
    sotto::detail::process_identity process = sotto::detail::process_identity::own();
    std::string claim = random_name();      // this one, among others of the process
    std::optional<std::uint64_t> folder{};  // its number on its disk, once it is claimed

    friend bool operator==(const claimant&, const claimant&) = default;

    /// For messages.
    std::string text() const;
};

inline constexpr std::string_view owner_format = "sotto.folder_owner";

/// The content of the file: a line for each field. Texts are escaped: a line stays a line.
std::string owner_text(const claimant& who);

/// Nothing for a text that owner_text did not write, or that is cut off. Earlier versions wrote no
/// number of the folder.
std::optional<claimant> read_owner(std::string_view text);

/// Whether a text was never meant to name an owner. A crash may leave one that is cut off or zeros.
bool is_foreign(std::string_view text) noexcept;

/// The claims of this process under which it trains at this moment.
class claims_in_use {
public:
    static void set(const std::string& claim, bool in_use);
    static bool has(const std::string& claim);

private:
    static std::mutex& mutex();
    static std::set<std::string>& all();
};

/// What came of an attempt to own a folder.
///   held     it is this one's now
///   waits    it is not known yet whether its owner lives: try again
///   refused  another one owns it and lives, or this user may not write there
///   failed   the disk failed: it is owned by nobody, as far as this one knows
enum class ownership : std::uint8_t { held, waits, refused, failed };

/// The right to write into a folder, whatever files it is reached by.
class folder_claim {
public:
    folder_claim() = default;
    folder_claim(const folder_claim&) = delete;
    folder_claim& operator=(const folder_claim&) = delete;
    virtual ~folder_claim() = default;

    /// Tries to become the owner, without waiting for anybody; `why` names the one that is.
    virtual ownership attempt(std::string& why) = 0;
    /// Whether this process trains with it now: until then another trainer of it may take it over.
    virtual void use(bool in_use) = 0;
    /// Why nothing may be written; empty: this one owns the folder. Called by a writer that has
    /// locked the folder. What was lost stays lost until the next attempt.
    virtual std::string problem() = 0;
};

/// Owns a folder, so that no two jobs write into it, from an attempt that succeeds until its end.
/// The file `checkpoints.owner` in the folder names the owner. A thread renews the claim every 10
/// s, whatever the program does meanwhile; that sets the file's time of change.
///
/// The folder of another owner is taken over at once if that owner has ended, which is known of
/// processes of the same machine and container. The same job takes it over at once, too, as after a
/// restart on another host. If the owner's process is known to run, its own job may do so only if
/// the owner has not renewed its claim for 60 s. Otherwise the folder is taken over after 60 s
/// without a renewal. Both times of that are by the clock of the disk, so that hosts need no common
/// time. If that clock jumps, or another job's process is known to run, the claimant has to see the
/// 60 s pass itself, by its own clock.
///
/// A claim names the number that the disk gave the folder. In a copy of the folder a claim of an
/// owner on this host is void. One of another host is not: some disks number a folder differently
/// on each host.
///
/// An owner that was halted for longer finds its claim replaced, and writes nothing any more. A
/// writer looks for that before it writes and before its file appears. A claim that was removed, as
/// with everything in the folder, is made again.
///
/// The folder's lock keeps claimants apart. Where a file system has none, as NFS for folders, a new
/// claim is still made by one host alone, since the file is created exclusively. Two that take
/// over an old claim within the same moment may then both believe to own it, until their next look.
///   wire    text, see detail::owner_text
///   cost    a thread that wakes up every 10 s, reads the file and sets its time
///   errors  io_failure: the thread cannot be started. What the disk does wrong is answered
class folder_owner final : public folder_claim {
public:
    /// How a process of a claim is looked at; for tests, too.
    using looks_at =
        std::function<sotto::detail::process_state(const sotto::detail::process_identity&)>;

    /// Of a folder that exists. Nothing is claimed yet.
    folder_owner(disk files, const std::filesystem::path& folder, claimant who = {},
                 looks_at look = sotto::detail::process_identity::state_of);

    /// Gives the folder back. In a child of fork() it stays the parent's.
    ~folder_owner() override;

    ownership attempt(std::string& why) override;

    void use(bool in_use) override { claims_in_use::set(who_.claim, in_use); }

    std::string problem() override;

    /// Shows that the owner lives: called every 10 s.
    void renew() noexcept;

private:
    static constexpr std::size_t text_max = 4096;

    /// The content of the file; nothing, and no error, if there is none.
    std::optional<std::string> read(std::error_code& why);

    /// `is_locked`: the caller has locked the folder.
    ownership try_to_own(std::string& why, bool is_locked);

    void lose(const std::string& to);

    /// A folder that this user may not write into is refused: no later attempt could succeed.
    ownership fail(const char* what, std::error_code problem, std::string& why) const;

    std::string cannot(const char* what, std::error_code problem) const;

    /// Whether what is there can be taken over: answers `held` then.
    ownership judge(const std::string& text, std::string& why);

    /// Whether a claim of an owner on this host is of another folder: this one is a copy of that.
    bool is_of_copied_folder(const claimant& owner);

    /// Takes the place of what was found there.
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
    std::mutex mutex_;                      // of all below
    bool is_owner_ = false;                 // unless it is lost
    std::string lost_;                      // who took it over, in a sentence
    std::optional<sighting> seen_;          // of another one's claim
    std::optional<time_point> busy_since_;  // another one has the folder locked
    std::shared_ptr<void> renewals_;
};

/// Repeats an attempt to own a folder once a second, as long as `attempt` returns true: it is not
/// known yet whether the folder's owner lives. `pauses`: whether this process waits between two
/// attempts. A process that only takes part in an attempt waits within it. Each attempt must send
/// messages or votes to the processes that wait for this one: else they count it as late.
template <class Attempt>
void attempt_each_second(const disk& files, bool pauses, Attempt attempt) {
    while (attempt())
        if (pauses) files.pause(attempt_period);
}

/// Why no checkpoint may be written into a folder; empty: one may. `known` are the steps of all
/// checkpoints that this run has read or written there: any other is of another run, which came
/// without a claim, and would be removed.
std::string why_not_write(const disk& files, const std::filesystem::path& folder,
                          folder_claim& owner, std::span<const std::int64_t> known);

/// After an attempt to write a checkpoint of this step: it is known, and the ones that were removed
/// are not any more.
void note_written(const disk& files, const std::filesystem::path& folder, std::int64_t step,
                  std::vector<std::int64_t>& known);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/folder_owner.ipp"
#endif
