# Sourced by bin/cassandra: where the installation and its configuration are.

if [ "x$CASSANDRA_HOME" = "x" ]; then
    CASSANDRA_HOME=$(cd "$(dirname "$0")/.." && pwd)
fi

# The folder with cassandra.yaml.
if [ "x$CASSANDRA_CONF" = "x" ]; then
    CASSANDRA_CONF=$CASSANDRA_HOME/conf
fi
