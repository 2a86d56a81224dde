// The order that partition_reader.h promises, asserted of each source of a merge: keys grow, clusterings grow (fall when
// reversed), every marker closes the range tombstone that is open, and the last one leaves none open. A range tombstone that
// ends with its slice may begin again at the same place, with a slice that touches.
//
// It copies what it compares with. With NDEBUG it is empty and does nothing.
#pragma once

#include "base/dcheck.h"
#include "read/partition_reader.h"

namespace cassandra_like {

#ifdef NDEBUG

class KeyOrderCheck {
 public:
  void next(const DecoratedKey&) {}
};

class UnfilteredOrderCheck {
 public:
  void next(const Unfiltered*, bool) {}
};

#else

class KeyOrderCheck {
 public:
  void next(const DecoratedKey& key) {
    DCHECK(!is_begun_ || (DecoratedKey{token_, key_} < key));
    is_begun_ = true;
    token_ = key.token;
    key_.assign(key.key);
  }

 private:
  bool is_begun_ = false;
  Token token_ = kMinimumToken;
  Bytes key_;
};

class UnfilteredOrderCheck {
 public:
  // null: the partition ends.
  void next(const Unfiltered* unfiltered, bool reversed) {
    if (unfiltered == nullptr) {
      DCHECK(open_.is_live());
      return;
    }
    const BytesView place = unfiltered->position().comparable;
    const bool begins_again = is_behind_end_ && !unfiltered->is_row && unfiltered->marker.close.is_live();
    DCHECK(!is_begun_ || (reversed ? place < last_ : last_ < place) || (begins_again && place == last_));
    is_begun_ = true;
    last_.assign(place);
    is_behind_end_ = !unfiltered->is_row && unfiltered->marker.open.is_live();
    if (unfiltered->is_row) return;
    DCHECK(unfiltered->marker.close == open_);
    open_ = unfiltered->marker.open;
  }

 private:
  bool is_begun_ = false;
  bool is_behind_end_ = false;  // the last one closed a range tombstone and opened none
  Bytes last_;
  DeletionTime open_;
};

#endif

}  // namespace cassandra_like
