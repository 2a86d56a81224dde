#include "tests/simulation/wide_rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "model/values.h"

namespace cassandra_like {

WideRows::Write WideRows::draw_write(Story& story, int64_t number) {
  const auto partition = static_cast<int>(story.random(kPartitions));
  const auto clustering = static_cast<int>(story.random(kClusterings));
  const auto width = static_cast<int>(1 + story.random(kClusterings / 2));
  const int end = std::min(clustering + width, kClusterings);
  const std::string filler(story.random(300), 'x');
  Write write{.number = number};
  auto add = [&](int first, int behind) {
    for (int c = first; c < behind; ++c) write.rows.push_back(row_of(partition, c));
  };
  const auto remove = [&](const std::string& what) {
    write.text = fmt::format("DELETE FROM s.wide USING TIMESTAMP {} WHERE p = {}{}", number, partition, what);
    for (int row : write.rows) rows_.tried_delete(row, number);
  };
  switch (story.random(10)) {
    case 0:
      add(clustering, clustering + 1);
      remove(fmt::format(" AND c = {}", clustering));
      return write;
    case 1:
      add(clustering, end);
      remove(fmt::format(" AND c >= {} AND c < {}", clustering, end));
      return write;
    case 2:
      add(clustering + 1, kClusterings);
      remove(fmt::format(" AND c > {}", clustering));
      return write;
    case 3:
      if (story.chance(50)) {
        add(0, clustering + 1);
        remove(fmt::format(" AND c <= {}", clustering));
      } else {
        add(0, kClusterings);
        remove("");
      }
      return write;
    case 4:
    case 5: {
      add(clustering, end);
      std::vector<std::string> rows;
      for (int c = clustering; c < end; ++c) {
        rows.push_back(fmt::format("INSERT INTO s.wide (p, c, n) VALUES ({}, {}, {})", partition, c, number));
      }
      write.text =
          fmt::format("BEGIN UNLOGGED BATCH USING TIMESTAMP {} {}; APPLY BATCH", number, fmt::join(rows, "; "));
      break;
    }
    case 6:
      add(clustering, clustering + 1);
      write.text =
          fmt::format("UPDATE s.wide USING TIMESTAMP {0} SET n = {0}, filler = '{3}' WHERE p = {1} AND c = {2}", number,
                      partition, clustering, filler);
      break;
    default:
      add(clustering, clustering + 1);
      write.text = fmt::format("INSERT INTO s.wide (p, c, n, filler) VALUES ({1}, {2}, {0}, '{3}') USING TIMESTAMP {0}",
                               number, partition, clustering, filler);
  }
  for (int row : write.rows) rows_.tried_write(row, number);
  return write;
}

void WideRows::ended(const Write& write, Outcome outcome, int64_t at, int64_t now) {
  for (int row : write.rows) {
    if (outcome == Outcome::kAcknowledged) rows_.acknowledged(row, write.number, at, now);
    if (outcome == Outcome::kRefused) rows_.refused(row, write.number);
  }
  acknowledged_count_ += outcome == Outcome::kAcknowledged;
}

WideRows::Read WideRows::draw_read(Story& story) const {
  if (story.chance(15)) return read_all();
  Read read;
  std::string conditions;
  if (story.chance(75)) {
    read.partitions = {static_cast<int>(story.random(kPartitions))};
    conditions = fmt::format(" WHERE p = {}", read.partitions[0]);
  } else {
    read.partitions = {0, 1, 2};
    if (story.chance(50)) conditions = " WHERE p IN (0, 1, 2)";
  }
  const auto first = static_cast<int>(story.random(kClusterings));
  const int behind = first + 1 + static_cast<int>(story.random(static_cast<uint64_t>(kClusterings - first)));
  bool filters = false;
  if (conditions.empty() || story.chance(30)) {
    read.clusterings.resize(kClusterings);
    std::iota(read.clusterings.begin(), read.clusterings.end(), 0);
  } else if (story.chance(30)) {
    for (int c = first; c < kClusterings; c += 1 + static_cast<int>(story.random(4))) read.clusterings.push_back(c);
    conditions += fmt::format(" AND c IN ({})", fmt::join(read.clusterings, ", "));
  } else {
    for (int c = first; c < behind; ++c) read.clusterings.push_back(c);
    conditions += fmt::format(" AND c >= {} AND c < {}", first, behind);
  }
  const bool is_one = read.partitions.size() == 1;
  if (story.chance(20)) {
    read.above = static_cast<int64_t>(story.random(2000));
    conditions += fmt::format("{}n > {}", conditions.empty() ? " WHERE " : " AND ", read.above);
    filters = true;
  }
  if (is_one && story.chance(40)) {
    std::reverse(read.clusterings.begin(), read.clusterings.end());
    conditions += " ORDER BY c DESC";
  }
  if (story.chance(50)) {
    read.limit = 1 + story.random(5);
    conditions += fmt::format("{} {}", is_one && story.chance(70) ? " LIMIT" : " PER PARTITION LIMIT", read.limit);
  }
  if (filters) conditions += " ALLOW FILTERING";
  if (story.chance(60)) read.page_size = 1 + static_cast<int32_t>(story.random(6));
  read.text = "SELECT p, c, n FROM s.wide" + conditions;
  expect(read);
  return read;
}

WideRows::Read WideRows::read_all() const {
  Read read{
      .text = "SELECT p, c, n FROM s.wide", .partitions = {0, 1, 2}, .clusterings = std::vector<int>(kClusterings)};
  std::iota(read.clusterings.begin(), read.clusterings.end(), 0);
  expect(read);
  return read;
}

void WideRows::expect(Read& read) const {
  for (int partition : read.partitions) {
    for (int clustering : read.clusterings) {
      const int row = row_of(partition, clustering);
      read.expected[row] = rows_.must_show(row);
    }
  }
}

std::string WideRows::take(Read& read, const ClientRows& page) {
  for (const auto& row : page.rows) {
    if (row.size() != 3 || !row[0] || !row[1] || !row[2] || row[2]->size() != 8) return "a row that cannot be";
    read.found.push_back({decode_int(*row[0]), decode_int(*row[1]), decode_bigint(*row[2])});
  }
  return "";
}

std::string WideRows::judge(const Read& read) {
  for (const Found& found : read.found) {
    if (std::find(read.partitions.begin(), read.partitions.end(), found.partition) == read.partitions.end()) {
      return fmt::format("{}: shows partition {}", read.text, found.partition);
    }
  }
  for (int partition : read.partitions) {
    const std::string problem = judge_partition(read, partition);
    if (!problem.empty()) return fmt::format("{}: partition {}, {}", read.text, partition, problem);
  }
  return "";
}

std::string WideRows::judge_partition(const Read& read, int partition) {
  std::map<int, int64_t> numbers;
  auto place = read.clusterings.begin();
  for (const Found& found : read.found) {
    if (found.partition != partition) continue;
    place = std::find(place, read.clusterings.end(), found.clustering);
    if (place == read.clusterings.end()) return fmt::format("row {} out of place, or twice", found.clustering);
    ++place;
    if (found.number <= read.above)
      return fmt::format("row {} shows {} in spite of the condition", found.clustering, found.number);
    numbers[found.clustering] = found.number;
  }
  if (read.limit != 0 && numbers.size() > read.limit) return fmt::format("{} rows", numbers.size());
  const auto end = read.limit != 0 && numbers.size() == read.limit ? place : read.clusterings.end();
  for (auto clustering = read.clusterings.begin(); clustering != end; ++clustering) {
    const int row = row_of(partition, *clustering);
    const Checker::Expectation& expected = read.expected.at(row);
    const auto number = numbers.find(*clustering);
    std::optional<int64_t> found;
    if (number != numbers.end()) found = number->second;
    if (!found && expected.acknowledged <= read.above) continue;  // the condition may have left it out
    std::string problem = rows_.check(row, expected, found, found);
    if (!problem.empty()) return problem;
    if (found || read.above < 0) rows_.was_read(row, expected, found);
  }
  return "";
}

}  // namespace cassandra_like
