#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"

namespace sotto::testing {

/// A disk in memory that fails on demand, and that knows what a loss of power may leave of it. What
/// was not synced may have reached the platter or not: data of a file not at all, in part, as zeros
/// or whole; entries of the folder each for itself. There is one folder, whatever paths say.
class memory_disk {
public:
    struct file {
        bytes now;   // as programs see it
        bytes safe;  // as it was when last synced
        std::chrono::nanoseconds changed{};
    };
    using entries = std::map<std::string, std::shared_ptr<file>>;

    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    std::int64_t calls = 0;                       // that change something, so far
    std::int64_t fails_at = never;                // this call fails, counted from 0
    int failure = EIO;                            // by this errno
    bool short_writes = false;                    // a write takes half of what it is given
    bool takes_nothing = false;                   // a write takes nothing, and does not fail
    std::int64_t power_fails_after = never;       // so many calls take effect, all later ones fail
    bool syncs = true;                            // false: a disk that lies about it
    std::int64_t looks = 0;                       // calls that change nothing, so far
    std::int64_t look_fails_at = never;           // this one of them fails, counted from 0
    std::map<int, std::filesystem::path> locked;  // by which lock
    int locks = 0;                                // so far
    std::uint64_t folder = 1;                     // its number; a copy has another one

    std::chrono::nanoseconds clock = std::chrono::hours(1000);  // the disk's
    time_point steady{std::chrono::hours(1)};                   // of the machine
    std::map<int, std::function<void()>> tasks;                 // that are called now and then
    std::function<void()> on_pause;                             // what others do meanwhile

    /// Time passes.
    void pass(duration length) {
        clock += length;
        steady += length;
    }
    /// Calls all tasks, as after their period.
    void call_tasks() {
        for (const auto& [number, task] : std::map(tasks)) task();
    }

    entries names;

    /// Whether the next call is to fail.
    bool refuses(std::error_code& why) {
        why.clear();
        const std::int64_t call = calls++;
        if (call >= power_fails_after || call == fails_at)
            why.assign(call == fails_at ? failure : EIO, std::generic_category());
        return static_cast<bool>(why);
    }

    /// The same for a call that changes nothing.
    bool hides(std::error_code& why) {
        why.clear();
        if (looks++ == look_fails_at) why.assign(failure, std::generic_category());
        return static_cast<bool>(why);
    }

    void enter(std::string name, std::shared_ptr<file> to) {
        if (to->changed.count() == 0) to->changed = clock;
        unsynced_.push_back({name, to});
        names[std::move(name)] = std::move(to);
    }
    void leave(const std::string& name) {
        unsynced_.push_back({name, nullptr});
        names.erase(name);
    }
    void sync_folder() {
        if (!syncs) return;
        safe_names_ = names;
        unsynced_.clear();
    }
    void sync(file& f) const {
        if (syncs) f.safe = f.now;
    }

    /// Calls inspect(disk) for every disk that may be found once the power is back.
    void after_power_loss(const std::function<void(memory_disk&)>& inspect) const {
        for (std::uint64_t taken = 0; taken < std::uint64_t{1} << unsynced_.size(); ++taken) {
            entries left = safe_names_;
            for (std::size_t i = 0; i < unsynced_.size(); ++i) {
                if ((taken >> i & 1) == 0) continue;
                if (unsynced_[i].second)
                    left[unsynced_[i].first] = unsynced_[i].second;
                else
                    left.erase(unsynced_[i].first);
            }
            std::vector<file*> torn;
            for (const auto& [name, f] : left)
                if (f->now != f->safe && std::find(torn.begin(), torn.end(), f.get()) == torn.end())
                    torn.push_back(f.get());
            const std::size_t fates = torn.empty() ? 1 : 4;  // all torn files meet the same one
            for (std::size_t fate = 0; fate < fates; ++fate) {
                memory_disk found;
                for (const auto& [name, f] : left) {
                    auto copy = std::make_shared<file>();
                    copy->now = f->now == f->safe ? f->now : torn_by(fate, *f);
                    copy->safe = copy->now;
                    found.names[name] = std::move(copy);
                }
                found.sync_folder();
                inspect(found);
            }
        }
    }

private:
    static bytes torn_by(std::size_t fate, const file& f) {
        bytes left = f.safe;
        if (fate == 1)
            left.assign(
                f.now.begin(),
                f.now.begin() + static_cast<std::ptrdiff_t>(
                                    (f.now.size() + std::min(f.now.size(), f.safe.size())) / 2));
        if (fate == 2) left.resize(f.now.size());  // zeros: the length was written, data were not
        if (fate == 3) left = f.now;
        return left;
    }

    friend class memory_files;

    entries safe_names_;
    int next_task = 0;
    std::vector<std::pair<std::string, std::shared_ptr<file>>> unsynced_;  // null: left the folder
};

/// The files of a memory_disk, as checkpoints use them. Copies are of the same disk.
class memory_files {
public:
    explicit memory_files(std::shared_ptr<memory_disk> disk = std::make_shared<memory_disk>())
        : disk_(std::move(disk)) {}

    memory_disk& disk() const noexcept { return *disk_; }

    std::filesystem::path place(const std::filesystem::path& path, std::error_code& why) {
        why.clear();  // there are no links, and nothing but regular files
        return path;
    }
    int create(const std::filesystem::path& path, std::error_code& why) {
        if (disk_->refuses(why)) return -1;
        auto made = std::make_shared<memory_disk::file>();
        disk_->enter(name(path), made);
        return keep(std::move(made));
    }
    int open(const std::filesystem::path& path, std::error_code& why) {
        if (disk_->hides(why)) return -1;
        const auto found = disk_->names.find(name(path));
        if (found != disk_->names.end()) return keep(found->second);
        why = std::make_error_code(std::errc::no_such_file_or_directory);
        return -1;
    }
    std::int64_t write(int file, byte_view out, std::error_code& why) {
        if (disk_->refuses(why)) return -1;
        if (disk_->takes_nothing) return 0;
        if (disk_->short_writes && out.size() > 1) out = out.first(out.size() / 2);
        at(file).changed = disk_->clock;
        bytes& all = at(file).now;
        all.insert(all.end(), out.begin(), out.end());
        return static_cast<std::int64_t>(out.size());
    }
    std::int64_t read(int file, std::int64_t offset, mutable_byte_view in, std::error_code& why) {
        if (disk_->hides(why)) return -1;
        const bytes& all = at(file).now;
        const auto from = std::min(static_cast<std::size_t>(offset), all.size());
        const std::size_t count = std::min(in.size(), all.size() - from);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(from), count, in.begin());
        return static_cast<std::int64_t>(count);
    }
    std::int64_t size(int file, std::error_code& why) {
        if (disk_->hides(why)) return 0;
        return static_cast<std::int64_t>(at(file).now.size());
    }
    void sync(int file, std::error_code& why) {
        if (!disk_->refuses(why)) disk_->sync(at(file));
    }
    void close(int file, std::error_code& why) {
        disk_->refuses(why);
        open_.erase(file);
    }
    void rename(const std::filesystem::path& from, const std::filesystem::path& to,
                std::error_code& why) {
        if (disk_->refuses(why)) return;
        const auto moved = disk_->names.at(name(from));
        disk_->leave(name(from));
        disk_->enter(name(to), moved);
    }
    void remove(const std::filesystem::path& path, std::error_code& why) {
        if (!disk_->refuses(why)) disk_->leave(name(path));
    }
    void make_folder(const std::filesystem::path&, std::error_code& why) { disk_->refuses(why); }
    void sync_folder(const std::filesystem::path&, std::error_code& why) {
        if (!disk_->refuses(why)) disk_->sync_folder();
    }
    std::vector<std::string> list(const std::filesystem::path&, std::error_code& why) {
        std::vector<std::string> all;
        if (disk_->hides(why)) return all;
        for (const auto& entry : disk_->names) all.push_back(entry.first);
        return all;
    }
    int lock(const std::filesystem::path& path, std::error_code& why) {
        why.clear();
        for (const auto& [lock, folder] : disk_->locked)
            if (folder == path)
                why = std::make_error_code(std::errc::resource_unavailable_try_again);
        if (why) return -1;
        disk_->locked.emplace(++disk_->locks, path);
        return disk_->locks;
    }
    void unlock(int lock) noexcept { disk_->locked.erase(lock); }
    int create_new(const std::filesystem::path& path, std::error_code& why) {
        if (!disk_->names.contains(name(path))) return create(path, why);
        why = std::make_error_code(std::errc::file_exists);
        return -1;
    }
    void touch(const std::filesystem::path& path, std::error_code& why) {
        if (!disk_->refuses(why)) disk_->names.at(name(path))->changed = disk_->clock;
    }
    std::chrono::nanoseconds changed(const std::filesystem::path& path, std::error_code& why) {
        if (disk_->hides(why)) return {};
        const auto found = disk_->names.find(name(path));
        if (found != disk_->names.end()) return found->second->changed;
        why = std::make_error_code(std::errc::no_such_file_or_directory);
        return {};
    }
    std::chrono::nanoseconds disk_now(const std::filesystem::path&, std::error_code& why) {
        return disk_->refuses(why) ? std::chrono::nanoseconds() : disk_->clock;
    }
    std::uint64_t identity(const std::filesystem::path&, std::error_code& why) {
        return disk_->hides(why) ? 0 : disk_->folder;
    }
    time_point now() const { return disk_->steady; }
    void pause(duration length) {
        disk_->pass(length);
        if (disk_->on_pause) disk_->on_pause();
    }
    std::shared_ptr<void> every(duration, std::function<void()> task) {
        const int number = disk_->next_task++;
        disk_->tasks.emplace(number, std::move(task));
        return {nullptr, [disk = disk_, number](void*) { disk->tasks.erase(number); }};
    }

private:
    static std::string name(const std::filesystem::path& path) { return path.filename().string(); }

    int keep(std::shared_ptr<memory_disk::file> file) {
        open_[next_] = std::move(file);
        return next_++;
    }
    memory_disk::file& at(int file) { return *open_.at(file); }

    std::shared_ptr<memory_disk> disk_;
    std::map<int, std::shared_ptr<memory_disk::file>> open_;
    int next_ = 3;
};

}  // namespace sotto::testing
