#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"

namespace sotto::detail::checkpoint {

/// Files of any file_system, so that readers and writers are compiled once. Copies share the files.
///   cost    one indirect call a member
class disk {
public:
    /// Uses the files of the system.
    disk();
    /// Uses a file layer of the caller.
    template <file_system Files>
        requires(!std::same_as<Files, disk>)
    disk(Files files) : calls_(std::make_shared<calls_of<Files>>(std::move(files))) {}

    std::string place(const std::string& path, std::error_code& why) const;
    int create(const std::string& path, std::error_code& why) const;
    int create_new(const std::string& path, std::error_code& why) const;
    int open(const std::string& path, std::error_code& why) const;
    std::int64_t write(int file, byte_view out, std::error_code& why) const;
    std::int64_t read(int file, std::int64_t offset, mutable_byte_view in,
                      std::error_code& why) const;
    std::int64_t size(int file, std::error_code& why) const { return calls_->size(file, why); }
    void sync(int file, std::error_code& why) const { calls_->sync(file, why); }
    void close(int file, std::error_code& why) const { calls_->close(file, why); }
    void rename(const std::string& from, const std::string& to, std::error_code& why) const;
    void remove(const std::string& path, std::error_code& why) const;
    void make_folder(const std::string& path, std::error_code& why) const;
    void sync_folder(const std::string& path, std::error_code& why) const;
    std::vector<std::string> list(const std::string& path, std::error_code& why) const;
    int lock(const std::string& path, std::error_code& why) const;
    void unlock(int lock) const { calls_->unlock(lock); }
    void touch(const std::string& path, std::error_code& why) const;
    std::chrono::nanoseconds changed(const std::string& path, std::error_code& why) const;
    std::chrono::nanoseconds disk_now(const std::string& folder, std::error_code& why) const;
    std::uint64_t identity(const std::string& folder, std::error_code& why) const;
    time_point now() const { return calls_->now(); }
    void pause(duration length) const { calls_->pause(length); }
    std::shared_ptr<void> every(duration period, std::function<void()> task) const;

private:
    struct calls {
        virtual ~calls() = default;
        virtual std::string place(const std::string&, std::error_code&) = 0;
        virtual int create(const std::string&, std::error_code&) = 0;
        virtual int create_new(const std::string&, std::error_code&) = 0;
        virtual int open(const std::string&, std::error_code&) = 0;
        virtual std::int64_t write(int, byte_view, std::error_code&) = 0;
        virtual std::int64_t read(int, std::int64_t, mutable_byte_view, std::error_code&) = 0;
        virtual std::int64_t size(int, std::error_code&) = 0;
        virtual void sync(int, std::error_code&) = 0;
        virtual void close(int, std::error_code&) = 0;
        virtual void rename(const std::string&, const std::string&, std::error_code&) = 0;
        virtual void remove(const std::string&, std::error_code&) = 0;
        virtual void make_folder(const std::string&, std::error_code&) = 0;
        virtual void sync_folder(const std::string&, std::error_code&) = 0;
        virtual std::vector<std::string> list(const std::string&, std::error_code&) = 0;
        virtual int lock(const std::string&, std::error_code&) = 0;
        virtual void unlock(int) = 0;
        virtual void touch(const std::string&, std::error_code&) = 0;
        virtual std::chrono::nanoseconds changed(const std::string&, std::error_code&) = 0;
        virtual std::chrono::nanoseconds disk_now(const std::string&, std::error_code&) = 0;
        virtual std::uint64_t identity(const std::string&, std::error_code&) = 0;
        virtual time_point now() = 0;
        virtual void pause(duration) = 0;
        virtual std::shared_ptr<void> every(duration, std::function<void()>) = 0;
    };

    template <class Files>
    struct calls_of final : calls {
        explicit calls_of(Files&& of) : files(std::move(of)) {}

        std::string place(const std::string& path, std::error_code& why) override {
            return files.place(path, why);
        }
        int create(const std::string& path, std::error_code& why) override {
            return files.create(path, why);
        }
        int create_new(const std::string& path, std::error_code& why) override {
            return files.create_new(path, why);
        }
        int open(const std::string& path, std::error_code& why) override {
            return files.open(path, why);
        }
        std::int64_t write(int file, byte_view out, std::error_code& why) override {
            return files.write(file, out, why);
        }
        std::int64_t read(int file, std::int64_t offset, mutable_byte_view in,
                          std::error_code& why) override {
            return files.read(file, offset, in, why);
        }
        std::int64_t size(int file, std::error_code& why) override { return files.size(file, why); }
        void sync(int file, std::error_code& why) override { files.sync(file, why); }
        void close(int file, std::error_code& why) override { files.close(file, why); }
        void rename(const std::string& from, const std::string& to, std::error_code& why) override {
            files.rename(from, to, why);
        }
        void remove(const std::string& path, std::error_code& why) override {
            files.remove(path, why);
        }
        void make_folder(const std::string& path, std::error_code& why) override {
            files.make_folder(path, why);
        }
        void sync_folder(const std::string& path, std::error_code& why) override {
            files.sync_folder(path, why);
        }
        std::vector<std::string> list(const std::string& path, std::error_code& why) override {
            return files.list(path, why);
        }
        int lock(const std::string& path, std::error_code& why) override {
            return files.lock(path, why);
        }
        void unlock(int lock) override { files.unlock(lock); }
        void touch(const std::string& path, std::error_code& why) override {
            files.touch(path, why);
        }
        std::chrono::nanoseconds changed(const std::string& path, std::error_code& why) override {
            return files.changed(path, why);
        }
        std::chrono::nanoseconds disk_now(const std::string& folder,
                                          std::error_code& why) override {
            return files.disk_now(folder, why);
        }
        std::uint64_t identity(const std::string& folder, std::error_code& why) override {
            return files.identity(folder, why);
        }
        time_point now() override { return files.now(); }
        void pause(duration length) override { files.pause(length); }
        std::shared_ptr<void> every(duration period, std::function<void()> task) override {
            return files.every(period, std::move(task));
        }

        Files files;
    };

    std::shared_ptr<calls> calls_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/disk.ipp"
#endif
