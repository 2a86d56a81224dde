// Names and bytes of a simulated disk, and what a crash leaves of them.
#include <algorithm>
#include <cstring>
#include <set>

#include "base/checksum.h"
#include "runtime/sim/sim_disk.h"

namespace cassandra_like {

namespace {

constexpr size_t kSector = 512;
constexpr uint32_t kEven = 500'000;  // ppm

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin && path.compare(begin, end - begin, ".") != 0) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Error sim_io_error(const char* doing, const std::string& path, const char* why) {
  return Error(ErrorCode::kIo, std::string("cannot ") + doing + " " + path + ": " + why);
}

SimDiskState::SimDiskState(SimScheduler& scheduler, uint32_t machine, SimFaults& faults)
    : scheduler_(scheduler), machine_(machine), faults_(faults), root_(std::make_shared<SimInode>(true, usage_)) {}

void SimDiskState::fold(SimEvent kind, BytesView data) {
  scheduler_.fold(kind, machine_, static_cast<uint64_t>(data.size()) << 32 | crc32(data));
}

Status SimDiskState::count_operation(const char* doing, const std::string& path) {
  if (!faults_.operations_until_fault) return {};
  if (*faults_.operations_until_fault > 0) {
    --*faults_.operations_until_fault;
    return {};
  }
  const bool full = faults_.fault == SimFaults::Fault::kOneDiskFull;
  if (faults_.fault != SimFaults::Fault::kAllAfter) faults_.operations_until_fault.reset();
  Error error = sim_io_error(doing, path, full ? "No space left on device" : "Input/output error");
  if (full) error.info().code = ErrorCode::kDiskFull;
  return error;
}

Status SimDiskState::check_read(const std::string& path) {
  const bool unreadable = !faults_.unreadable.empty() && path.find(faults_.unreadable) != std::string::npos;
  if (scheduler_.chance(faults_.io_error_ppm) || unreadable) return sim_io_error("read", path, "Input/output error");
  return {};
}

std::shared_ptr<SimInode> SimDiskState::find(const std::string& path) const {
  std::shared_ptr<SimInode> at = root_;
  for (const std::string& name : split(path)) {
    auto it = at->live.find(name);
    if (it == at->live.end()) return nullptr;
    at = it->second;
  }
  return at;
}

Result<SimDiskState::Place> SimDiskState::place_of(const std::string& path, const char* doing) const {
  std::vector<std::string> parts = split(path);
  if (parts.empty()) return sim_io_error(doing, path, "Invalid argument");
  std::string name = std::move(parts.back());
  parts.pop_back();
  std::shared_ptr<SimInode> at = root_;
  for (const std::string& part : parts) {
    auto it = at->live.find(part);
    if (it == at->live.end()) return sim_io_error(doing, path, "No such file or directory");
    at = it->second;
    if (!at->is_directory) return sim_io_error(doing, path, "Not a directory");
  }
  return Place{std::move(at), std::move(name)};
}

void SimDiskState::change(std::vector<Setting> settings) {
  for (const Setting& s : settings) {
    if (s.inode == nullptr) {
      s.directory->live.erase(s.name);
    } else {
      s.directory->live[s.name] = s.inode;
    }
  }
  changes_.push_back({next_change_++, std::move(settings)});
}

Result<std::shared_ptr<SimInode>> SimDiskState::create_file(const std::string& path) {
  ASSIGN_OR_RETURN(Place place, place_of(path, "create"));
  if (place.directory->live.contains(place.name)) return sim_io_error("create", path, "File exists");
  auto inode = std::make_shared<SimInode>(false, usage_);
  change({{place.directory, place.name, inode}});
  return inode;
}

Status SimDiskState::make_directories(const std::string& path) {
  std::shared_ptr<SimInode> at = root_;
  for (const std::string& name : split(path)) {
    auto it = at->live.find(name);
    if (it == at->live.end()) {
      auto inode = std::make_shared<SimInode>(true, usage_);
      change({{at, name, inode}});
      at = std::move(inode);
    } else {
      at = it->second;
      if (!at->is_directory) return sim_io_error("create the directory", path, "Not a directory");
    }
  }
  return {};
}

Status SimDiskState::remove(const std::string& path) {
  auto place = place_of(path, "remove");
  if (!place.ok()) return {};
  auto it = place->directory->live.find(place->name);
  if (it == place->directory->live.end()) return {};
  if (!it->second->live.empty()) return sim_io_error("remove", path, "Directory not empty");
  change({{place->directory, place->name, nullptr}});
  return {};
}

Status SimDiskState::rename(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(Place source, place_of(from, "rename"));
  ASSIGN_OR_RETURN(Place target, place_of(to, "rename"));
  auto moved = source.directory->live.find(source.name);
  if (moved == source.directory->live.end()) return sim_io_error("rename", from, "No such file or directory");
  std::shared_ptr<SimInode> inode = moved->second;
  auto replaced = target.directory->live.find(target.name);
  if (replaced != target.directory->live.end()) {
    if (replaced->second == inode) return {};
    if (replaced->second->is_directory != inode->is_directory) return sim_io_error("rename", from, "Is a directory");
    if (!replaced->second->live.empty()) return sim_io_error("rename", from, "Directory not empty");
  }
  change({{source.directory, source.name, nullptr}, {target.directory, target.name, inode}});
  return {};
}

Status SimDiskState::link(const std::string& from, const std::string& to) {
  std::shared_ptr<SimInode> inode = find(from);
  if (inode == nullptr || inode->is_directory) return sim_io_error("link", from, "No such file or directory");
  ASSIGN_OR_RETURN(Place target, place_of(to, "link"));
  if (target.directory->live.contains(target.name)) return sim_io_error("link", to, "File exists");
  change({{target.directory, target.name, inode}});
  return {};
}

void SimDiskState::apply(const Change& change) {
  for (const Setting& s : change.settings) {
    if (s.inode == nullptr) {
      s.directory->durable.erase(s.name);
    } else {
      s.directory->durable[s.name] = s.inode;
    }
  }
}

void SimDiskState::make_durable(const std::shared_ptr<SimInode>& directory, uint64_t up_to_change) {
  // Backwards: a change that touches a wanted directory makes wanted what it touches besides.
  std::set<const SimInode*> wanted{directory.get()};
  std::set<uint64_t> chosen;
  for (auto it = changes_.rbegin(); it != changes_.rend(); ++it) {
    if (it->number > up_to_change) continue;
    bool touches = std::any_of(it->settings.begin(), it->settings.end(),
                               [&](const Setting& s) { return wanted.contains(s.directory.get()); });
    if (!touches) continue;
    chosen.insert(it->number);
    for (const Setting& s : it->settings) wanted.insert(s.directory.get());
  }
  std::deque<Change> rest;
  for (Change& c : changes_) {
    if (chosen.contains(c.number)) {
      apply(c);
    } else {
      rest.push_back(std::move(c));
    }
  }
  changes_ = std::move(rest);
}

// ---- crash

void SimDiskState::lose_unsynced_names() {
  std::set<const SimInode*> cut;
  for (const Change& c : changes_) {
    bool lost = !faults_.tear_on_crash || std::any_of(c.settings.begin(), c.settings.end(), [&](const Setting& s) {
      return cut.contains(s.directory.get());
    });
    if (!lost) lost = scheduler_.chance(kEven);
    if (!lost) {
      apply(c);
    } else {
      for (const Setting& s : c.settings) cut.insert(s.directory.get());
    }
  }
  changes_.clear();
}

// The remains of a file or a directory after a crash, as new inodes: handles of the dead keep the old ones.
std::shared_ptr<SimInode> SimDiskState::survivor(const std::shared_ptr<SimInode>& inode,
                                                 std::map<const SimInode*, std::shared_ptr<SimInode>>* seen) {
  if (auto it = seen->find(inode.get()); it != seen->end()) return it->second;
  auto after = std::make_shared<SimInode>(inode->is_directory, usage_);
  after->modified_millis = inode->modified_millis;
  seen->emplace(inode.get(), after);
  if (inode->is_directory) {
    for (const auto& [name, child] : inode->durable) after->durable[name] = survivor(child, seen);
    after->live = after->durable;
  } else {
    tear(*inode, after.get());
    after->synced_size = after->content.size();
    *usage_ += after->size();
  }
  return after;
}

void SimDiskState::tear(const SimInode& before, SimInode* after) {
  BytesView live = before.live_bytes();
  uint64_t synced_size = before.synced_size;
  if (before.before_truncation && (!faults_.tear_on_crash || scheduler_.chance(kEven))) {
    live = before.before_truncation->content;
    synced_size = before.before_truncation->synced_size;
  }
  BytesView durable =
      before.mapped ? BytesView(before.mapped_durable->get(), before.mapped_size) : live.substr(0, synced_size);
  Bytes& out = after->content;
  out = durable;
  if (!faults_.tear_on_crash) return;
  for (size_t at = durable.size() == live.size() ? 0 : durable.size() / kSector * kSector; at < live.size();
       at += kSector) {
    BytesView sector = live.substr(at, kSector);
    if (at < durable.size() && durable.substr(at, kSector) == sector) continue;
    if (!scheduler_.chance(kEven)) continue;
    if (out.size() < at + sector.size()) out.resize(at + sector.size());
    std::memcpy(out.data() + at, sector.data(), sector.size());
  }
}

void SimDiskState::crash() {
  lose_unsynced_names();
  std::map<const SimInode*, std::shared_ptr<SimInode>> seen;
  // The handles of the dead may keep old inodes alive: they no longer count.
  usage_ = std::make_shared<uint64_t>(0);
  root_ = survivor(root_, &seen);
  locks_.clear();
}

}  // namespace cassandra_like
