#!/bin/sh
# unused-keys prints the names of API keys that you can probably delete, one per line:
#   - keys that no client has used for DAYS days (90 by default)
#   - keys named "job …" that are older than one day
#
#   unused-keys.sh [DAYS]
#
# Change: the prefix "job ", if the names of the keys that your CI jobs create start differently.
# Needs:  service-api, jq, and a key with API_KEY:READ_ANY in SERVICE_API_KEY_FILE or SERVICE_API_KEY.
set -eu

keys=$(service-api request --query '{ apiKeys { name createdAt lastUsedAt } }')
printf '%s\n' "$keys" | jq -r --argjson days "${1:-90}" '
  def days_ago($n): now - $n * 86400 | todate;
  .data.apiKeys[]
  | select((.lastUsedAt // .createdAt) < days_ago($days)
      or (.name | startswith("job ")) and .createdAt < days_ago(1))
  | .name'
