#include "tests/simulation/wide_rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "model/values.h"

namespace cassandra_like {
namespace {

bool chance(Random& random, uint64_t percent) { return random.below(100) < percent; }

}  // namespace

WideRows::Write WideRows::draw_write(Random& random, int64_t number) {
  const auto partition = static_cast<int>(random.below(kPartitions));
  const auto clustering = static_cast<int>(random.below(kClusterings));
  const auto width = static_cast<int>(1 + random.below(kClusterings / 2));
  const int end = std::min(clustering + width, kClusterings);
  const std::string filler(random.below(chance(random, 10) ? 3000 : 300), 'x');
  Write write{.number = number};
  auto add = [&](int first, int behind) {
    for (int c = first; c < behind; ++c) write.rows.push_back(row_of(partition, c));
  };
  const auto remove = [&](const std::string& what) {
    write.text = fmt::format("DELETE FROM s.wide USING TIMESTAMP {} WHERE p = {}{}", number, partition, what);
    for (int row : write.rows) rows_.tried_delete(row, number);
  };
  switch (random.below(11)) {
    case 10:
      write.rows = {static_of(partition)};
      if (chance(random, 30)) {
        write.text = fmt::format("DELETE st FROM s.wide USING TIMESTAMP {} WHERE p = {}", number, partition);
        rows_.tried_delete(write.rows[0], number);
        return write;
      }
      write.text = fmt::format("UPDATE s.wide USING TIMESTAMP {0} SET st = {0} WHERE p = {1}", number, partition);
      break;
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
      if (chance(random, 50)) {
        add(0, clustering + 1);
        remove(fmt::format(" AND c <= {}", clustering));
      } else {
        add(0, kClusterings);
        write.rows.push_back(static_of(partition));
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

WideRows::Read WideRows::draw_read(Random& random) const {
  if (chance(random, 15)) return read_all();
  Read read;
  std::string conditions;
  if (chance(random, 75)) {
    read.partitions = {static_cast<int>(random.below(kPartitions))};
    conditions = fmt::format(" WHERE p = {}", read.partitions[0]);
  } else {
    read.partitions = {0, 1, 2};
    if (chance(random, 50)) conditions = " WHERE p IN (0, 1, 2)";
  }
  const auto first = static_cast<int>(random.below(kClusterings));
  const int behind = first + 1 + static_cast<int>(random.below(static_cast<uint64_t>(kClusterings - first)));
  if (chance(random, 10)) {
    read = read_all();
    read.is_distinct = true;
    read.text = "SELECT DISTINCT p, st FROM s.wide";
    if (chance(random, 60)) read.page_size = 1 + static_cast<int32_t>(random.below(2));
    return read;
  }
  if (conditions.empty() || chance(random, 30)) {
    read.is_whole = true;
    read.clusterings.resize(kClusterings);
    std::iota(read.clusterings.begin(), read.clusterings.end(), 0);
  } else if (chance(random, 30)) {
    for (int c = first; c < kClusterings; c += 1 + static_cast<int>(random.below(4))) read.clusterings.push_back(c);
    conditions += fmt::format(" AND c IN ({})", fmt::join(read.clusterings, ", "));
  } else {
    for (int c = first; c < behind; ++c) read.clusterings.push_back(c);
    conditions += fmt::format(" AND c >= {} AND c < {}", first, behind);
  }
  const bool is_one = read.partitions.size() == 1;
  if (chance(random, 20)) {
    read.above = static_cast<int64_t>(random.below(2000));
    conditions += fmt::format("{}n > {}", conditions.empty() ? " WHERE " : " AND ", read.above);
    read.is_whole = false;
  }
  if (is_one && chance(random, 40)) {
    std::reverse(read.clusterings.begin(), read.clusterings.end());
    conditions += " ORDER BY c DESC";
  }
  if (chance(random, 50)) {
    read.limit = 1 + random.below(5);
    conditions += fmt::format("{} {}", is_one && chance(random, 70) ? " LIMIT" : " PER PARTITION LIMIT", read.limit);
  }
  if (read.above >= 0) conditions += " ALLOW FILTERING";
  if (chance(random, 60)) read.page_size = 1 + static_cast<int32_t>(random.below(6));
  read.text = "SELECT p, c, n, st FROM s.wide" + conditions;
  expect(read);
  return read;
}

WideRows::Read WideRows::read_all() const {
  Read read{.text = "SELECT p, c, n, st FROM s.wide",
            .partitions = {0, 1, 2},
            .clusterings = std::vector<int>(kClusterings),
            .is_whole = true};
  std::iota(read.clusterings.begin(), read.clusterings.end(), 0);
  expect(read);
  return read;
}

void WideRows::expect(Read& read) const {
  for (int partition : read.partitions) {
    std::vector<int> rows{static_of(partition)};
    for (int clustering : read.clusterings) rows.push_back(row_of(partition, clustering));
    for (int row : rows) read.expected[row] = rows_.must_show(row);
  }
}

std::string WideRows::take(Read& read, const ClientRows& page) {
  const auto number = [](const std::optional<Bytes>& cell) {
    return cell ? std::optional(decode_bigint(*cell)) : std::nullopt;
  };
  for (const auto& row : page.rows) {
    if (row.size() != (read.is_distinct ? 2 : 4) || !row[0]) return "a row that cannot be";
    Found& found = read.found.emplace_back(decode_int(*row[0]));
    found.of_static = number(row.back());
    if (read.is_distinct) continue;
    if (row[1]) found.clustering = decode_int(*row[1]);
    found.number = number(row[2]);
    if (found.clustering.has_value() != found.number.has_value()) return "a row with a null";
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
  std::vector<Found> found;
  std::copy_if(read.found.begin(), read.found.end(), std::back_inserter(found),
               [&](const Found& row) { return row.partition == partition; });
  for (const Found& row : found) {
    std::string problem = judge_row(read, static_of(partition), row.of_static);
    if (!problem.empty()) return problem;
  }
  if (found.empty() && (read.is_whole || read.is_distinct)) {
    std::string problem = judge_row(read, static_of(partition), std::nullopt);
    if (!problem.empty()) return problem;
  }
  const bool has_static_alone = std::any_of(found.begin(), found.end(), [](const Found& f) { return !f.clustering; });
  if (has_static_alone && found.size() > 1) return "its static column twice, or beside rows";
  if (read.is_distinct) return found.empty() ? judge_rows(read, partition, {}) : "";
  if (!has_static_alone) return judge_rows(read, partition, found);
  if (!read.is_whole || !found[0].of_static) return "a row without a clustering";
  return judge_rows(read, partition, {});
}

std::string WideRows::judge_rows(const Read& read, int partition, const std::vector<Found>& found) {
  std::map<int, int64_t> numbers;
  auto place = read.clusterings.begin();
  for (const Found& row : found) {
    place = std::find(place, read.clusterings.end(), *row.clustering);
    if (place == read.clusterings.end()) return fmt::format("row {} out of place, or twice", *row.clustering);
    ++place;
    if (*row.number <= read.above) return fmt::format("row {} in spite of the condition", *row.clustering);
    numbers[*row.clustering] = *row.number;
  }
  if (read.limit != 0 && numbers.size() > read.limit) return fmt::format("{} rows", numbers.size());
  const auto end = read.limit != 0 && numbers.size() == read.limit ? place : read.clusterings.end();
  for (auto clustering = read.clusterings.begin(); clustering != end; ++clustering) {
    const auto number = numbers.find(*clustering);
    std::string problem = judge_row(read, row_of(partition, *clustering),
                                    number == numbers.end() ? std::nullopt : std::optional(number->second));
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string WideRows::judge_row(const Read& read, int row, std::optional<int64_t> number) {
  const Checker::Expectation& expected = read.expected.at(row);
  const bool is_conditional = read.above >= 0 && row < static_of(0);
  if (!number && is_conditional && expected.acknowledged <= read.above)
    return "";  // the condition may have left it out
  std::string problem = rows_.check(row, expected, number, number);
  if (problem.empty() && (number || !is_conditional)) rows_.was_read(row, expected, number);
  return problem;
}

}  // namespace cassandra_like
