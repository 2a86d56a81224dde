# Sourced by bin/cassandra.

# Where nodetool and Prometheus reach the node (admin_port). HTTP, see docs/ADMIN.md; the name is Cassandra's.
JMX_PORT="7199"

# yes: only from this machine. no: on all addresses; the node then asks for the name and password of a role.
LOCAL_JMX="${LOCAL_JMX:-yes}"

# System properties, -Dname=value, as bin/cassandra lists them.
JVM_OPTS="$JVM_OPTS $JVM_EXTRA_OPTS"
