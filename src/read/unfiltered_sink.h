// Where unfiltered partitions go: what a replica answers another node with, before it is bytes or a digest.
#pragma once

#include "model/row.h"

namespace cassandra_like {

class UnfilteredSink {
 public:
  struct Partition {
    DecoratedKey key;
    DeletionTime deletion;
    Row static_row;  // is_empty() when there is none
    bool is_reversed = false;
    // The argument of the next call of unfiltered(); null when the partition has no rows and no markers.
    const Unfiltered* first = nullptr;

    bool is_empty() const { return deletion.is_live() && static_row.is_empty() && first == nullptr; }
  };

  virtual ~UnfilteredSink() = default;
  // Partitions come in ring order. Arguments are valid during the call.
  virtual void begin_partition(const Partition& partition) = 0;
  // Rows and markers in clustering order, descending when the partition is reversed. Markers pair up.
  virtual void unfiltered(const Unfiltered& unfiltered) = 0;
  // False: no further partitions are wanted.
  virtual bool end_partition() = 0;
  // False: nothing further is wanted, of the partition that was begun neither. It is not ended then.
  bool wants_more() const { return wants_more_; }

 protected:
  void want_more(bool more) { wants_more_ = more; }

 private:
  bool wants_more_ = true;
};

}  // namespace cassandra_like
