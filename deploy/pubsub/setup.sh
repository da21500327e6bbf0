#!/usr/bin/env bash
# Makes what verdict needs on Google Cloud: topics, subscriptions, and who may use them. Asked again, it makes
# what is missing and leaves the rest as it is.
#
#   PROJECT=example-project deploy/pubsub/setup.sh
#
# Needs gcloud, signed in as somebody who may do this. Also set, when the defaults do not fit:
#   NAMESPACE        Kubernetes namespace of the pods (verdict)
#   KEDA_NAMESPACE   of KEDA's operator (keda)
#   IAM=no           only topics and subscriptions
set -euo pipefail
: "${PROJECT:?set PROJECT to the id of the Google Cloud project}"
NAMESPACE=${NAMESPACE:-verdict}
KEDA_NAMESPACE=${KEDA_NAMESPACE:-keda}
IAM=${IAM:-yes}
export CLOUDSDK_CORE_PROJECT=$PROJECT CLOUDSDK_CORE_DISABLE_PROMPTS=1

say() { printf '%s\n' "$*" >&2; }

# `make topics|subscriptions NAME OPTION...`, unless it is there.
make() {
    if gcloud pubsub "$1" describe "$2" >/dev/null 2>&1; then say "$1 $2: is there"; return; fi
    gcloud pubsub "$1" create "$2" "${@:3}" >/dev/null
    say "$1 $2: made"
}

# The names and the numbers are verdict's defaults: section queue.pubsub of its settings.
make topics verdict
make topics verdict-dead
# 100 deliveries are a backstop, for a message that kills every worker. What verdict itself gives up, it sends
# to the dead topic long before.
make subscriptions verdict --topic=verdict \
    --ack-deadline=60 --min-retry-delay=10s --max-retry-delay=600s \
    --dead-letter-topic=verdict-dead --max-delivery-attempts=100 \
    --message-retention-duration=7d --expiration-period=never
make subscriptions verdict-dead --topic=verdict-dead \
    --ack-deadline=60 --message-retention-duration=7d --expiration-period=never
[ "$IAM" = yes ] || exit 0

# `allow topics|subscriptions NAME MEMBER ROLE`
allow() {
    gcloud pubsub "$1" add-iam-policy-binding "$2" --member="$3" --role="$4" >/dev/null
    say "$1 $2: $3 is $4"
}

# Pub/Sub itself moves messages to the dead topic.
number=$(gcloud projects describe "$PROJECT" --format='value(projectNumber)')
agent=serviceAccount:service-$number@gcp-sa-pubsub.iam.gserviceaccount.com
allow topics verdict-dead "$agent" roles/pubsub.publisher
allow subscriptions verdict "$agent" roles/pubsub.subscriber

# verdict publishes and consumes, on these four only; viewer lets it see how they are configured.
account=verdict@$PROJECT.iam.gserviceaccount.com
gcloud iam service-accounts describe "$account" >/dev/null 2>&1 ||
    gcloud iam service-accounts create verdict --display-name=verdict >/dev/null
for name in verdict verdict-dead; do
    allow topics "$name" "serviceAccount:$account" roles/pubsub.publisher
    allow topics "$name" "serviceAccount:$account" roles/pubsub.viewer
    allow subscriptions "$name" "serviceAccount:$account" roles/pubsub.subscriber
    allow subscriptions "$name" "serviceAccount:$account" roles/pubsub.viewer
done

# The pods' Kubernetes account may act as it.
gcloud iam service-accounts add-iam-policy-binding "$account" --role=roles/iam.workloadIdentityUser \
    --member="serviceAccount:$PROJECT.svc.id.goog[$NAMESPACE/verdict]" >/dev/null
say "$account: used by $NAMESPACE/verdict"

# KEDA reads the subscription's size from Cloud Monitoring, as its operator's Kubernetes account.
gcloud projects add-iam-policy-binding "$PROJECT" --role=roles/monitoring.viewer --condition=None \
    --member="principal://iam.googleapis.com/projects/$number/locations/global/workloadIdentityPools/$PROJECT.svc.id.goog/subject/ns/$KEDA_NAMESPACE/sa/keda-operator" >/dev/null
say "keda-operator: reads the project's metrics"
