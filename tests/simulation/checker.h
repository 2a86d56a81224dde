// Knows every write that was tried, and which were acknowledged, and judges what is read.
//
// Every operation on a key carries its own number as value and as write timestamp, so what a key must show is the
// operation with the highest number among those that took effect. A write sets two rows of a partition in one mutation:
// both show its number, or the mutation was torn. Let A be the highest number that has to be there: then a read must show
// an operation that was tried, with a number of at least A.
//
// A write with a TTL shows nothing once it has expired, and still hides what is older: so a delete is an operation that was
// gone from the start.
//
// A read at a level that overlaps the writes' (was_read()) holds for all later ones: they show no less. With it a key is a
// linearizable register, to which the highest number has been written.
//
// A truncation has a number, too, and takes effect somewhere between its start and its end: what began after its end has to
// be there, what was over before its start must not show once it is acknowledged, and what lies between may be either.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cassandra_like {

class Checker {
 public:
  // The least that a read that starts now has to show.
  struct Expectation {
    int64_t at_least = 0;      // an operation of this number or a later one
    int64_t acknowledged = 0;  // the same, if reads do not count
    uint64_t reads_forgotten = 0;
    size_t truncations_begun = 0, truncations_done = 0;
    int64_t asked_at = 0;  // seconds
  };

  // Wall clock times are whole seconds, as the node counts them for a TTL. ttl: seconds; nullopt for none.
  void tried_write(int key, int64_t number, std::optional<int64_t> ttl = std::nullopt, int64_t tried_at = 0);
  void tried_delete(int key, int64_t number);
  // It was written no later than then.
  void written_by(int key, int64_t number, int64_t seconds);
  // at: virtual time in nanoseconds. Numbers up to `now` were given out.
  void acknowledged(int key, int64_t number, int64_t at, int64_t now);
  // It was answered that nothing was sent to any replica: the number must not show.
  void refused(int key, int64_t number);
  // check() found nothing wrong with these finds.
  void was_read(int key, const Expectation& expected, std::optional<int64_t> first);
  // The power failed, and with it may be gone what was read and not acknowledged: a replica shows a write before it is on
  // its disk.
  void forget_reads();

  // One at a time.
  void truncation_started(int64_t number);
  // acknowledged: false when it failed, so that nobody knows.
  void truncation_ended(int64_t now, bool acknowledged);
  bool truncating() const { return !truncations_.empty() && truncations_.back().ended == kNever; }
  uint64_t truncations_acknowledged() const;

  // The node is gone: what was not answered is done now, or never will be.
  void life_ended(int64_t now);
  // The power failed, and what was acknowledged after `safe_until` may be gone (periodic mode).
  void forget_acknowledged_after(int64_t safe_until);

  Expectation must_show(int key, int64_t asked_at = 0) const;
  // Checks the finds of a read that was asked for when must_show() was `expected`: the numbers of both rows, nullopt
  // for none. Empty when that is possible, else what is wrong.
  std::string check(int key, const Expectation& expected, std::optional<int64_t> first, std::optional<int64_t> second,
                    int64_t answered_at = 0) const;

  // A read in this second may find nothing of the write.
  bool may_have_expired(int key, int64_t number, int64_t at) const;

  uint64_t acknowledged_count() const { return acknowledged_count_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  struct Operation {
    std::optional<int64_t> ttl;
    int64_t may_be_gone = kNever;   // a read in this second or later may find nothing of it
    int64_t must_be_gone = kNever;  // and in this one or later has to
  };
  struct Key {
    std::map<int64_t, Operation> tried;
    std::map<int64_t, int64_t> acknowledged;  // number, when; those that have to last
    int64_t read = 0;                         // the highest number that a read has shown
    std::map<int64_t, int64_t> over;          // number, the last number that was given out when it was acknowledged
  };
  struct Truncation {
    int64_t started;
    int64_t life;  // all up to this number was tried in an earlier life of the node
    int64_t ended = kNever;
    bool acknowledged = false;
  };
  bool was_over(int key, int64_t number, const Truncation& truncation) const;

  std::map<int, Key> keys_;
  std::vector<Truncation> truncations_;
  int64_t life_ = 0;
  uint64_t acknowledged_count_ = 0;
  uint64_t reads_forgotten_ = 0;
};

}  // namespace cassandra_like
