//! What every store promises, checked on each.
//!
//! A case is an async function over a [`Place`](harness::Place); `suite!` makes a test of it for
//! each store. A new store joins by a function that makes a place and one line below.

mod append;
mod claim;
mod due;
mod events;
mod firestore;
pub mod harness;
mod key_value;
mod letters;
mod list;
mod model;
mod older;
mod open;
mod postgres;
mod processes;
mod race;
mod remove;
mod resume;
mod sealed;
mod sqlite;
mod waiting;
mod whole;

macro_rules! suite {
    ($($area:ident: $($case:ident)+;)+) => {
        suite!(@store memory; $($area: $($case)+;)+);
        suite!(@store sqlite_file; $($area: $($case)+;)+);
        suite!(@store sealed_memory; $($area: $($case)+;)+);
        suite!(@store sealed_file; $($area: $($case)+;)+);
        suite!(@store postgres_server; $($area: $($case)+;)+);
        suite!(@store postgres_pooled; $($area: $($case)+;)+);
        suite!(@store firestore_emulator; $($area: $($case)+;)+);
    };
    (@store $store:ident; $($area:ident: $($case:ident)+;)+) => {
        mod $store {
            $(mod $area {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let place = super::super::harness::$store().await;
                    super::super::$area::$case(&place).await;
                    place.done().await;
                })+
            })+
        }
    };
}

suite! {
    open:
        makes_a_run_with_all_it_was_given
        finds_the_run_that_is_there
        claims_in_the_same_step
        supersedes_older_unfinished_runs_of_the_subject
        is_born_superseded_when_a_higher_one_is_there
        a_superseded_higher_one_does_not_count
        finding_supersedes_too_and_raises_the_order
        subjects_do_not_touch_each_other;
    claim:
        raises_the_epoch_each_time
        refuses_what_is_missing_or_held
        waits_for_not_before_unless_early
        reopens_only_when_asked
        an_expired_lease_is_taken_over
        renewing_keeps_it
        renewing_a_lost_lease_is_fenced;
    append:
        sets_the_head_and_keeps_every_byte
        may_be_empty
        releases
        an_expired_lease_nobody_took_still_appends
        is_fenced_after_a_take_over
        is_fenced_after_a_release_a_cancellation_and_a_superseding
        conflicts_after_an_answer_came_in
        answers_a_repeated_batch_as_the_first_time
        a_missing_run_is_missing
        large_values_come_back_bit_for_bit
        a_thousand_records_stay_in_order
        loads_what_is_new_only;
    resume:
        takes_the_first_answer_only
        knows_only_open_interrupts
        wakes_a_parked_run
        leaves_a_held_run_to_its_holder
        an_ended_run_takes_no_answer
        answers_copied_by_a_fork_count
        cancels_once;
    list:
        narrows_by_each_field
        pages_through_runs_of_one_moment;
    due:
        lists_each_kind_and_nothing_else
        the_longest_overdue_come_first;
    remove:
        deletes_a_run_and_all_that_is_its
        retention_takes_old_final_runs_only
        retention_goes_in_small_steps;
    letters:
        putting_one_twice_keeps_the_first
        one_discarded_stays_discarded
        a_replayed_one_opens_again
        settle_once
        one_given_up_again_is_not_settled_as_it_was
        are_filtered_the_newest_first
        are_written_with_the_append_or_not_at_all
        odd_characters_survive_in_heads_and_letters;
    key_value:
        keeps_a_value_until_it_expires
        of_those_who_put_if_absent_one_wins
        a_write_is_done_only_over_what_it_expects
        a_rate_limit_is_shared
        a_rate_limit_refuses_what_it_can_never_grant
        refuses_large_values
        sweeps_what_has_expired;
    waiting:
        is_written_with_the_append_and_listed
        ends_with_a_claim_an_answer_and_a_stop
        a_lapsed_lease_is_waited_for
        is_listed_in_pages_and_with_every_other_filter;
    events:
        are_kept_once_by_key_and_id_and_for_a_time
        are_found_the_oldest_first
        waits_are_noted_once_and_dropped
        odd_and_large_ones_come_back_as_they_were;
    race:
        openings_of_one_subject_leave_one_unfinished
        opening_one_run_makes_it_once
        claims_have_one_winner
        answers_have_one_winner
        two_writers_on_one_run_never_mix
        half_of_a_batch_is_never_seen
        many_runs_at_once;
}
