#include "sotto/checkpoint/detail/file_reader.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/errors.hpp"
#include "support/folders.hpp"
#include "support/memory_disk.hpp"
#include "support/small_checkpoint.hpp"

using namespace sotto;
using testing::memory_disk, testing::memory_files, testing::newest, testing::small_checkpoint;

namespace {

constexpr const char* older = "checkpoint-000000000010.safetensors";
constexpr const char* newer = "checkpoint-000000000020.safetensors";

memory_files with_two_generations() {
    memory_files files;
    REQUIRE(small_checkpoint(10).write(files) == "");
    REQUIRE(small_checkpoint(20).write(files) == "");
    return files;
}

bytes& content(memory_files& files, const char* name) {
    return files.disk().names.at(name)->now;
}

/// The section that a byte of the file lies in.
std::string section_at(const bytes& file, std::size_t byte) {
    const auto header = detail::checkpoint::parse_header(file).value("here");
    const auto at = static_cast<std::int64_t>(byte) - header.data_begin;
    if (at < 0) return "header";
    for (const auto& entry : header.tensors)
        if (at < entry.end) return detail::checkpoint::section_of(entry.name);
    return "";
}

/// What is wrong with the newer one; the older one must then be used.
std::string why_refused(memory_files& files) {
    std::vector<std::string> refused;
    CHECK(newest(files, refused) == 10);
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].find(newer) != std::string::npos);
    return refused[0];
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("a checkpoint that was written is read as it was") {
    memory_files files = with_two_generations();
    std::vector<std::string> refused;
    CHECK(newest(files, refused) == 20);
    CHECK(refused.empty());
}

TEST_CASE("a checkpoint with any one bit flipped is refused, and the one before it is used") {
    memory_files files = with_two_generations();
    bytes& file = content(files, newer);
    const bytes whole = file;
    std::int64_t by_digest = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        CAPTURE(bit);
        const std::string section = section_at(whole, bit / 8);
        file[bit / 8] ^= std::byte{1} << (bit % 8);
        const std::string why = why_refused(files);
        CHECK(has(why, "is damaged: section '" + section + "': "));
        CHECK(has(why, "expected "));
        CHECK(has(why, ", found "));
        if (section != "header") CHECK(has(why, "': expected digest "));
        by_digest += has(why, "expected digest ");
        file = whole;
    }
    CHECK(by_digest > static_cast<std::int64_t>(whole.size()));
    CHECK(newest(files) == 20);
}

TEST_CASE("a checkpoint cut to any length, or longer, is refused, and the one before it is used") {
    memory_files files = with_two_generations();
    bytes& file = content(files, newer);
    const bytes whole = file;
    const auto size = static_cast<std::ptrdiff_t>(whole.size());
    for (std::ptrdiff_t length = 0; length < size; ++length) {
        CAPTURE(length);
        file.assign(whole.begin(), whole.begin() + length);
        const std::string section = section_at(whole, file.size());
        const std::string why = why_refused(files);
        CHECK(has(why, "section '" + section + "'"));
        CHECK(has(why, ", found " + std::to_string(length)));
        if (section != "header")
            CHECK(has(why, "expected a file of " + std::to_string(size) + " bytes"));
    }
    for (const std::size_t more : {1u, 8u, 100000u}) {
        file = whole;
        file.resize(whole.size() + more);
        CHECK(has(why_refused(files), "section 'digest': expected a file of " +
                                          std::to_string(size) + " bytes, found " +
                                          std::to_string(file.size())));
    }
}

TEST_CASE("where all are damaged there is none, and each is named") {
    memory_files files = with_two_generations();
    for (const char* name : {older, newer}) content(files, name).pop_back();
    std::vector<std::string> refused;
    CHECK(newest(files, refused) == 0);
    REQUIRE(refused.size() == 2);
    CHECK(has(refused[0], newer));
    CHECK(has(refused[1], older));
}

TEST_CASE("any other safetensors file is refused: it has no digests") {
    memory_files files;
    detail::checkpoint::file_header header;
    header.tensors.push_back({"w", detail::checkpoint::dtype::f32, {1}, 0, 4, 0});
    auto other = std::make_shared<memory_disk::file>();
    other->now = detail::checkpoint::format_header(header);
    other->now.resize(other->now.size() + 4);
    files.disk().enter(newer, other);
    std::vector<std::string> refused;
    CHECK(newest(files, refused) == 0);
    REQUIRE(refused.size() == 1);
    CHECK(has(refused[0], "expected 32 bytes named 'digest' as the last tensor, found 'w'"));
}

TEST_CASE("a header that promises more than there is costs no memory") {
    memory_files files;
    detail::checkpoint::file_header header;
    constexpr std::int64_t much = std::int64_t{1} << 60;
    header.tensors.push_back({"parameters/w", detail::checkpoint::dtype::u8, {much}, 0, much, 0});
    header.tensors.push_back({"digest", detail::checkpoint::dtype::u8, {32}, much, much + 32, 0});
    auto other = std::make_shared<memory_disk::file>();
    other->now = detail::checkpoint::format_header(header);
    files.disk().enter(newer, other);
    std::vector<std::string> refused;
    CHECK(newest(files, refused) == 0);
    REQUIRE(refused.size() == 1);
    CHECK(has(refused[0], "section 'parameters': expected a file of 1152921504606847"));
}

TEST_CASE("a tensor that changes after the file was checked is not handed out") {
    memory_files files = with_two_generations();
    detail::checkpoint::file_reader file(files, std::string("run/") + newer);
    const std::size_t which = *file.find("state/rank0/residual");
    const auto& entry = file.header().tensors[which];
    bytes found(static_cast<std::size_t>(entry.size_bytes()));
    file.read(which, found);
    content(files, newer)[static_cast<std::size_t>(file.header().data_begin + entry.begin)] ^=
        std::byte{4};
    CHECK_THROWS_AS(file.read(which, found), detail::checkpoint::damaged);
    CHECK_FALSE(file.find("state/rank1/residual").has_value());
}

TEST_CASE("a folder that is not there holds no checkpoint; a file that cannot be opened is named") {
    detail::checkpoint::posix_files files;
    std::vector<std::string> refused;
    CHECK(newest(files, refused, "no/such/folder") == 0);
    CHECK(refused.empty());
    CHECK_THROWS_WITH_AS(detail::checkpoint::file_reader(files, "no/such/file"),
                         "cannot open 'no/such/file': No such file or directory", io_failure);
}

TEST_CASE(
    "newest checkpoint: the system will not read it -> the one before it is used and it is named") {
    memory_files files = with_two_generations();
    const auto looks_of = [&](auto&& call) {
        files.disk().looks = 0;
        call();
        return files.disk().looks;
    };
    std::optional<detail::checkpoint::file_reader> file;
    std::vector<detail::checkpoint::refused_file> found;
    const std::int64_t checking =
        looks_of([&] { CHECK(detail::checkpoint::open_newest(files, "run", file, found)); });
    file.reset();
    const std::int64_t looks = looks_of([&] { CHECK(newest(files) == 20); });
    REQUIRE(checking > 10);
    REQUIRE(looks > checking);
    for (const int failure : {EIO, EACCES, ESTALE, ENOENT, EMFILE, ENFILE, ENOMEM})
        for (std::int64_t look = 0; look < looks; ++look) {
            CAPTURE(failure);
            CAPTURE(look);
            files.disk().looks = 0;
            files.disk().look_fails_at = look;
            files.disk().failure = failure;
            std::vector<std::string> refused;
            std::string why;
            std::int64_t step = 0;
            try {
                step = newest(files, refused);
            } catch (const io_failure& e) {
                why = e.what();
            }
            // The process lacks something: that says nothing of the file.
            const bool is_shortage = failure == EMFILE || failure == ENFILE || failure == ENOMEM;
            if (look == 0 && failure == ENOENT) {  // there is no folder
                CHECK(step == 0);
                CHECK(why.empty());
            } else if (look > 0 && look < checking && !is_shortage) {
                CHECK(step == 10);
                CHECK(why.empty());
                REQUIRE(refused.size() == 1);
                CHECK(has(refused[0], std::generic_category().message(failure)));
                CHECK(has(refused[0], newer));
            } else {
                CHECK(has(why, std::generic_category().message(failure)));
                CHECK(has(why, look == 0 ? "cannot list 'run'" : newer));
                CHECK(refused.empty());
            }
        }
}

TEST_CASE(
    "newest checkpoint: no regular file, or none for this user -> the one before it is used") {
    const testing::scratch_folder scratch("unreadable");
    const auto path = scratch.path() / newer;
    detail::checkpoint::posix_files files;
    REQUIRE(small_checkpoint(10).write(files, scratch.path()) == "");
    const auto why = [&] {
        std::vector<std::string> refused;
        CHECK(newest(files, refused, scratch.path()) == 10);
        REQUIRE(refused.size() == 1);
        std::filesystem::remove(path);
        const std::string begin = "cannot open '" + path.string() + "': ";
        CHECK(refused[0].starts_with(begin));
        return refused[0].substr(begin.size());
    };
    std::filesystem::create_directory(path);
    CHECK(why() == "it is a folder; expected a regular file");
    std::filesystem::create_symlink("nowhere", path);
    CHECK(why() == "it is a symbolic link to a path that does not exist");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(why() == "it is a FIFO; expected a regular file");  // without waiting for a writer
    std::filesystem::create_symlink("/dev/zero", path);
    CHECK(why() == "it is a device; expected a regular file");
    REQUIRE(small_checkpoint(20).write(files, scratch.path()) == "");
    ::chmod(path.c_str(), 0);
    if (::geteuid() != 0) CHECK(why() == "Permission denied");  // root may read everything
}

TEST_CASE("newest checkpoint: removed while it is opened -> the folder is listed again") {
    /// Once, a newer checkpoint takes the place of the newest, just before that is opened.
    struct busy_files : memory_files {
        using memory_files::memory_files;
        int open(const std::filesystem::path& path, std::error_code& why) {
            if (std::exchange(is_written_, true)) return memory_files::open(path, why);
            memory_files writer(*this);
            CHECK(small_checkpoint(30).write(writer, "run", 1) == "");
            return memory_files::open(path, why);
        }
        bool is_written_ = false;
    };
    busy_files files;
    memory_files& plain = files;
    REQUIRE(small_checkpoint(20).write(plain) == "");
    std::vector<std::string> refused;
    CHECK(newest(files, refused) == 30);
    CHECK(refused.empty());
}

TEST_CASE("open_newest: listed -> steps of all, also of damaged and later ones") {
    memory_files files = with_two_generations();
    REQUIRE(small_checkpoint(30).write(files, "run", 3) == "");
    content(files, newer).pop_back();
    std::optional<detail::checkpoint::file_reader> file;
    std::vector<detail::checkpoint::refused_file> refused{{7, "refused by an earlier call"}};
    std::vector<std::int64_t> listed{7};
    REQUIRE(detail::checkpoint::open_newest(files, "run", file, refused, 25, &listed));
    CHECK(file->path().filename() == older);
    CHECK(listed == std::vector<std::int64_t>{30, 20, 10});
    REQUIRE(refused.size() == 2);
    CHECK(refused[0].step == 30);
    CHECK(refused[0].why.ends_with("is newer than what others have, of step 25"));
    CHECK(refused[1].step == 20);
    CHECK(refused[1].kind == detail::checkpoint::refusal::damaged);
    file.reset();
    REQUIRE(detail::checkpoint::open_newest(files, "run", file, refused, 10, &listed));
    CHECK(file->path().filename() == older);
}

TEST_CASE("tensors without data at the borders of many sections stay in theirs") {
    std::vector<float> values(40);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    detail::file_plan plan;
    std::vector<detail::saved_field> all;
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
        const auto value = std::as_writable_bytes(std::span(values).subspan(rank, 1));
        const auto none = value.first(0);
        const std::vector<detail::saved_field> fields{
            {"z first", {0}, detail::checkpoint::dtype::f32, none},
            {"a second", {3, 0}, detail::checkpoint::dtype::f32, none},
            {"value", {1}, detail::checkpoint::dtype::f32, value},
            {"y last but one", {0, 2}, detail::checkpoint::dtype::f32, none},
            {"b last", {0}, detail::checkpoint::dtype::f32, none}};
        plan.add(detail::checkpoint::own_section(static_cast<int>(rank)), fields,
                 detail::digest_of(fields));
        all.insert(all.end(), fields.begin(), fields.end());
    }
    memory_files files;
    detail::checkpoint::file_writer out(files, "run", 20, 2);
    out.write_header(detail::checkpoint::format_header(plan.finish()));
    for (const detail::saved_field& field : all) out.write(field.memory);
    REQUIRE(out.finish());
    detail::checkpoint::file_reader file(files, std::string("run/") + newer);
    REQUIRE(file.header().tensors.size() == all.size() + 1);
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK(file.header().tensors[i].name ==
              detail::checkpoint::own_section(static_cast<int>(i / 5)) + "/" + all[i].name);
}

TEST_CASE("a tensor belongs to the section before its name") {
    CHECK(detail::checkpoint::section_of("parameters/a/b") == "parameters");
    CHECK(detail::checkpoint::section_of("parameters/rank0/b") == "parameters");
    CHECK(detail::checkpoint::section_of("state/momentum/a") == "state");
    CHECK(detail::checkpoint::section_of("state/rank12/residual/a") == "state/rank12");
    CHECK(detail::checkpoint::section_of("state/rank/a") == "state");
    CHECK(detail::checkpoint::section_of("state/rankings/a") == "state");
    CHECK(detail::checkpoint::section_of("state/rank1") == "state");
    CHECK(detail::checkpoint::section_of("buffers/rank0/mean") == "buffers/rank0");
    CHECK(detail::checkpoint::section_of("digest") == "digest");
}

TEST_CASE("file_reader: the last tensor is not the digests -> refused by its name") {
    using detail::checkpoint::dtype;
    struct last_tensor {
        const char* name;
        dtype type;
        std::int64_t count, bytes;
    };
    for (const last_tensor& last :
         {last_tensor{"digests", dtype::u8, 32, 32}, last_tensor{"digest", dtype::f32, 8, 32},
          last_tensor{"digest", dtype::u8, 31, 31}, last_tensor{"digest", dtype::u8, 33, 33}}) {
        CAPTURE(last.name);
        CAPTURE(last.bytes);
        detail::checkpoint::file_header header;
        header.tensors.push_back({last.name, last.type, {last.count}, 0, last.bytes, 0});
        auto other = std::make_shared<memory_disk::file>();
        other->now = detail::checkpoint::format_header(header);
        other->now.resize(other->now.size() + static_cast<std::size_t>(last.bytes));
        memory_files files;
        files.disk().enter(newer, other);
        CHECK_THROWS_WITH_AS(
            detail::checkpoint::file_reader(files, std::string("run/") + newer),
            ("'run/" + std::string(newer) +
             "' is damaged: section 'header': expected 32 bytes named 'digest' as the last tensor, "
             "found '" +
             last.name + "'")
                .c_str(),
            detail::checkpoint::damaged);
    }
}
