"""Every class of attack we know of, the tests that try it, and the test that shows what happens without the defence.

The numbers are those of the threats that were found in the field before the first line was written; further ones, found
by attacking ourselves, follow.
"""

from msgspec import Struct


class Attack(Struct, frozen=True):
    number: int
    name: str
    tried: tuple[str, ...]
    """`file::test`, below `tests`."""
    without: str


_REAL = "security/test_attacks_are_real.py::"
_BARE = "security/test_undefended.py::"
_SERVERS = "security/test_hostile_servers.py::"
_SITES = "security/test_hostile_sites.py::"
_ROGUES = "security/test_rogue_servers.py::"
_VANDALS = "security/test_vandals.py::"
_FRAMING = "security/test_http_framing.py::"
_FRONT = "security/test_bad_http.py::"
_ISSUERS = "security/test_rogue_issuers.py::"
_CHARGE = "security/test_own_charge.py::"
_TLS = "security/test_tls_sites.py::"
_TURNS = "security/test_taking_turns.py::"
_PEOPLE = "security/test_two_people.py::"

ATTACKS = (
    Attack(
        1,
        "poisoned tools",
        (
            _SERVERS + "test_hidden_characters_are_made_visible_everywhere",
            "security/test_scan.py::test_a_poisoned_server_is_found_from_outside",
            "guard/approval/test_guard.py::test_the_words_of_a_stranger_cannot_pass_for_ours",
            "guard/approval/test_guard.py::test_whoever_is_asked_sees_every_word_that_a_model_would",
        ),
        _BARE + "test_poisoned_words_arrive",
    ),
    Attack(
        2,
        "definitions that change later",
        (
            "guard/approval/test_guard.py::test_a_changed_field_asks_again_and_is_withheld_until_then",
            "guard/approval/test_guard.py::test_so_do_the_instructions_of_its_server",
            "guard/approval/test_guard.py::test_what_changes_while_the_person_reads_is_not_what_they_approve",
            "security/test_rug_pulls.py::test_a_change_with_the_next_start_is_asked_about_before_the_first_call",
            "cli/approvals/test_approvals.py::test_a_changed_definition_asks_again_and_is_shown_side_by_side",
        ),
        _BARE + "test_a_definition_changes_unseen",
    ),
    Attack(
        3,
        "names of others",
        (
            _SERVERS + "test_names_that_clash_shadow_or_overflow_reach_nobody",
            _SERVERS + "test_a_server_cannot_take_a_name_of_the_house",
            _ROGUES + "test_names_that_look_like_others_stay_apart",
            "upstream/offer/test_lists.py::test_a_tool_that_is_named_like_a_method_is_left_out",
            "interop/test_shared_uris.py::test_links_and_embedded_resources_of_a_tool",
            "interop/test_shared_uris.py::test_the_page_of_a_tool",
        ),
        _REAL + "test_names_that_no_model_takes_arrive",
    ),
    Attack(
        4,
        "names that no model takes",
        (_SERVERS + "test_names_that_clash_shadow_or_overflow_reach_nobody",),
        _REAL + "test_names_that_no_model_takes_arrive",
    ),
    Attack(
        5,
        "words and controls in results and errors",
        (
            _SERVERS + "test_hidden_characters_are_made_visible_everywhere",
            _ROGUES + "test_what_is_spelled_out_is_still_cut",
        ),
        _BARE + "test_controls_in_a_result_arrive",
    ),
    Attack(
        6,
        "tokens passed on",
        (
            "security/test_passing_on.py::test_the_token_of_a_caller_reaches_no_server",
            _SITES + "test_the_token_of_one_server_reaches_no_other",
            "auth/test_discovery.py::test_metadata_of_another_resource_is_refused",
        ),
        _BARE + "test_a_proxy_that_passes_headers_on_gives_the_token_away",
    ),
    Attack(
        7,
        "addresses that lead inside",
        (
            "link/http_out/test_fetch.py::test_each_redirect_is_judged_again",
            "link/http_out/test_fetch.py::test_a_name_is_resolved_once_and_only_its_judged_address_is_used",
            "auth/test_discovery.py::test_places_inside_are_not_asked_for_a_server_outside",
            _SITES + "test_a_redirect_takes_nothing_of_ours_elsewhere",
            "security/test_old_sites.py::test_a_place_that_is_not_its_own_gets_nothing",
        ),
        _BARE + "test_a_client_that_follows_reaches_what_is_inside",
    ),
    Attack(
        8,
        "pages that speak to this machine",
        (_FRONT + "test_a_foreign_host_is_refused", _FRONT + "test_a_foreign_origin_is_refused"),
        _BARE + "test_a_server_that_checks_nothing_answers_any_page",
    ),
    Attack(
        9,
        "sessions of others",
        (
            "gateway/test_http_sessions.py::test_a_session_is_bound_to_its_principal",
            "security/test_http_sessions.py::test_a_guessed_session_is_unknown",
            "security/test_http_sessions.py::test_sessions_do_not_mix",
            "security/test_http_clients.py::test_more_sessions_than_are_kept_push_out_the_oldest",
        ),
        _BARE + "test_where_all_callers_are_one_a_session_is_anybodys",
    ),
    Attack(
        10,
        "commands in files",
        (
            "config/test_servers.py::test_a_workspace_names_servers_in_two_files_and_they_wait",
            "config/test_servers.py::test_unsafe_commands_are_refused_whatever_the_trust",
            "config/test_servers.py::test_a_file_that_everybody_can_change_starts_nothing",
            "cli/approvals/test_approvals.py::test_a_server_of_the_workspace_starts_after_its_launch_was_approved",
        ),
        "config/test_servers.py::test_the_same_file_given_by_hand_starts_and_is_trusted",
    ),
    Attack(
        11,
        "addresses for a shell",
        (
            "auth/test_discovery.py::test_hostile_metadata_is_refused_with_its_reason",
            "security/test_rogue_logins.py::test_a_login_that_leads_astray_ends_with_its_reason",
            _ISSUERS + "test_a_person_is_sent_to_no_place_but_on_the_web",
        ),
        _BARE + "test_a_shell_runs_what_an_address_says",
    ),
    Attack(
        12,
        "words that are options to git",
        (
            "builtin/git/test_input.py::test_every_bad_value_is_one_clear_error",
            "builtin/git/test_input.py::test_what_passes_as_a_name_is_no_option_and_one_line",
        ),
        _BARE + "test_a_word_of_a_caller_is_an_option_to_git",
    ),
    Attack(
        13,
        "repositories that run something",
        (
            "builtin/git/test_hostile.py::test_no_tool_starts_anything",
            "builtin/git/test_kept_config.py::test_a_configuration_that_comes_after_the_check_is_not_read",
            "builtin/git/test_hostile.py::test_cloning_it_starts_nothing",
        ),
        "builtin/git/test_hostile.py::test_without_the_defence_the_poison_works",
    ),
    Attack(
        14,
        "paths and links that lead outside",
        (
            "builtin/test_confine.py::test_ways_out_are_refused",
            "builtin/test_confine.py::test_a_parent_swapped_between_check_and_use_leads_nowhere",
            "builtin/test_confine.py::test_a_folder_that_keeps_being_swapped_never_leaks",
        ),
        _BARE + "test_a_path_that_is_only_joined_leads_outside",
    ),
    Attack(
        15,
        "secrets that children see",
        (
            "security/test_passing_on.py::test_what_our_environment_holds_reaches_no_server",
            "sandbox/test_attacks.py::test_secrets_are_out_of_sight",
        ),
        _BARE + "test_a_child_sees_the_whole_environment",
    ),
    Attack(
        16,
        "messages without end",
        (
            _SERVERS + "test_a_list_without_end_costs_that_server_only",
            _SERVERS + "test_lines_that_are_no_messages_are_passed_over",
            "security/test_rogue_sites.py::test_bytes_that_are_no_answer_are_an_error_of_that_site",
            "security/test_old_sites.py::test_whatever_it_does_with_a_call_is_an_error_of_that_server",
            "security/test_floods.py::test_a_message_that_swells_stays_within_memory",
            "props/test_doors.py::test_no_door_is_slower_than_its_input_is_long",
        ),
        _REAL + "test_a_bomb_unpacks",
    ),
    Attack(
        17,
        "answers of others",
        (
            _SERVERS + "test_no_answer_is_taken_for_another",
            _ROGUES + "test_one_that_meddles_reaches_only_its_own_call",
            _SITES + "test_a_site_that_misbehaves_is_named_and_disturbs_nobody",
            "link/http_out/test_connector.py::test_what_comes_before_we_have_asked_is_no_answer",
        ),
        _REAL + "test_a_forged_answer_is_believed",
    ),
    Attack(
        18,
        "questions nobody allowed",
        (
            "provider/server/question/test_questions.py::test_what_a_server_may_not_ask_is_neither_declared_nor_passed_on",
            "provider/server/question/test_questions.py::test_no_question_is_shown_to_an_agent_it_may_not_be_of",
            _SERVERS + "test_a_flood_disturbs_nobody_else",
        ),
        _BARE + "test_a_server_asks_what_nobody_allowed",
    ),
    Attack(
        19,
        "secrets and lines in logs",
        (
            "security/test_canary.py::test_no_canary_ever_gets_out",
            _SITES + "test_what_a_site_says_is_one_short_line_of_our_log",
            "guard/test_audit.py::test_values_are_written_only_if_configured_and_never_without_bound",
            _ISSUERS + "test_a_token_that_a_server_repeats_is_not_said_again",
            "builtin/test_rest.py::test_a_token_that_a_service_repeats_is_not_shown",
        ),
        _BARE + "test_a_line_end_in_a_name_is_a_line_of_a_log",
    ),
    Attack(
        20,
        "the gateway as the prize",
        (
            "interop/test_token.py::test_without_it_nothing_is_answered",
            "interop/test_token.py::test_a_gateway_without_a_token_is_for_this_machine_only",
            "security/test_shares.py::test_guessing_tokens_is_slowed_down_and_the_right_one_still_works",
        ),
        _BARE + "test_where_all_callers_are_one_a_session_is_anybodys",
    ),
    Attack(
        21,
        "floods that never end",
        (
            _ROGUES + "test_a_flood_without_end_leaves_time_for_everybody_else",
            _ROGUES + "test_one_that_writes_nothing_but_junk_is_stopped",
        ),
        _BARE + "test_a_flood_without_end_is_one",
    ),
    Attack(
        22,
        "crowds, each within its bounds",
        (
            "security/test_crowds.py::test_many_large_calls",
            "security/test_crowds.py::test_many_halves_of_large_bodies",
            "security/test_crowds.py::test_many_events_kept_for_many_sessions",
            _ROGUES + "test_many_large_messages_at_once_stay_within_memory",
            _SITES + "test_many_large_answers_at_once_stay_within_memory",
        ),
        _BARE + "test_a_crowd_takes_more_memory_than_there_is",
    ),
    Attack(
        23,
        "processes that stay",
        (
            _SERVERS + "test_one_that_does_not_want_to_go_is_made_to",
            _ROGUES + "test_whatever_it_leaves_behind_is_gone_with_it",
            "sandbox/test_attacks.py::test_who_leaves_the_group_ends_with_the_rest",
        ),
        _REAL + "test_a_stubborn_server_stays",
    ),
    Attack(
        24,
        "requests that two servers read differently",
        (
            _FRAMING + "test_a_request_two_servers_could_read_differently_is_refused_and_the_connection_closed",
            "security/test_http_clients.py::test_idle_and_half_said_connections_keep_nobody_from_being_served",
        ),
        _BARE + "test_two_readers_see_two_requests_in_the_same_bytes",
    ),
    Attack(
        25,
        "requests sent on and on, answers never taken",
        (
            "security/test_sent_ahead.py::test_answers_that_nobody_takes_are_not_made",
            "security/test_sent_ahead.py::test_what_is_sent_behind_a_running_request_has_a_bound_for_all",
            "security/test_fat_lines.py::test_lists_that_nobody_reads_are_not_made",
            "security/test_crowds.py::test_large_calls_of_some_leave_room_for_those_of_another",
        ),
        _BARE + "test_answers_that_nobody_takes_are_held",
    ),
    Attack(
        26,
        "messages with more parts than bytes let one think",
        (
            _VANDALS + "test_millions_of_parts_in_one_answer_fail_their_call_at_once",
            _VANDALS + "test_millions_of_parts_at_the_start_cost_that_server_only",
            _VANDALS + "test_a_list_is_kept_as_far_as_its_bytes_allow",
        ),
        _BARE + "test_parts_take_many_times_their_bytes",
    ),
    Attack(
        27,
        "servers that speak in our name",
        (
            _VANDALS + "test_no_server_asks_in_our_name",
            _VANDALS + "test_no_server_paints_on_the_terminal",
            _VANDALS + "test_what_no_person_should_be_shown_is_refused",
        ),
        _BARE + "test_a_member_of_a_result_passes_for_the_gateways_own",
    ),
    Attack(
        28,
        "definitions that cost a client all lists",
        (_VANDALS + "test_a_strict_client_can_read_the_list_whatever_is_in_it",),
        _BARE + "test_one_definition_costs_a_strict_client_the_whole_list",
    ),
    Attack(
        29,
        "sites that are not who they say",
        (
            _TLS + "test_what_is_wrong_with_the_tls_of_a_site_is_told",
            _TLS + "test_a_certificate_that_changes_later_ends_what_was_trusted",
        ),
        _BARE + "test_who_looks_at_no_certificate_talks_to_anybody",
    ),
    Attack(
        30,
        "tokens nobody gave, and people after what is another's",
        (
            "security/test_tokens.py::test_a_token_that_proves_nobody_is_refused",
            "security/test_tokens.py::test_an_issuer_is_not_asked_for_each_token_that_comes",
            "security/test_expiry.py::test_the_stream_of_a_session_ends_with_its_token_and_goes_on_with_the_next",
            "security/test_expiry.py::test_a_listen_ends_with_its_token_and_says_so",
            _PEOPLE + "test_a_session_its_questions_and_its_streams_are_one_persons_alone",
            _PEOPLE + "test_the_state_of_a_question_is_of_no_use_to_another",
            _PEOPLE + "test_the_task_of_a_server_is_one_persons_alone",
        ),
        _BARE + "test_a_token_that_is_only_read_proves_what_it_says",
    ),
    Attack(
        31,
        "tasks that are not what they seem",
        (
            "security/test_taskmasters.py::test_what_is_no_task_of_ours_is_an_error_of_that_server",
            "security/test_taskmasters.py::test_a_task_that_is_told_at_length_is_cut_or_refused",
        ),
        _BARE + "test_the_task_of_another_is_told_as_ours",
    ),
    Attack(
        32,
        "callers who want everything",
        (
            _TURNS + "test_calls_without_end_do_not_keep_others_from_the_same_server",
            _TURNS + "test_calls_without_end_on_all_connections_leave_room_for_short_ones",
            "upstream/test_slots.py::test_what_conversations_have_for_themselves_does_not_push_out_what_all_share",
            "gateway/task/test_tasks.py::test_one_person_s_tasks_leave_room_for_those_of_others",
            "store/test_cut_results.py::test_the_results_of_one_do_not_push_out_those_of_others",
        ),
        _BARE + "test_where_nobody_shares_the_first_has_everything",
    ),
    Attack(
        33,
        "names that never become addresses",
        ("link/http_out/test_dns.py::test_a_zone_that_never_answers_holds_up_nobody_else",),
        _BARE + "test_a_few_threads_are_soon_all_taken",
    ),
    Attack(
        34,
        "lists that add up",
        (
            "security/test_greedy.py::test_ten_that_list_much_take_no_more_than_there_is",
            "security/test_greedy.py::test_a_modest_server_has_its_place_however_late_it_comes",
        ),
        _BARE + "test_lists_of_ten_servers_take_more_memory_than_there_is",
    ),
    Attack(
        35,
        "contents that are dear to look through",
        (
            "security/test_stalls.py::test_no_content_holds_neighbours_up",
            "security/test_stalls.py::test_nor_do_many_at_once_and_each_has_its_turn",
            "guard/test_visible.py::test_any_content_takes_linear_time",
            "wire/test_secrets.py::test_a_picture_is_looked_through_as_fast_as_a_text",
        ),
        _BARE + "test_what_is_simply_spelled_or_searched_costs_many_times_its_size",
    ),
    Attack(
        36,
        "many that each keep to their bound",
        (
            "security/test_together.py::test_ten_large_answers_at_once_take_turns_and_all_arrive",
            "security/test_together.py::test_answers_that_never_end_are_given_up_for_the_sake_of_others",
            "security/test_together.py::test_ten_that_talk_without_end_have_the_time_of_one",
        ),
        _BARE + "test_ten_messages_that_are_each_allowed_are_too_much_together",
    ),
    Attack(
        37,
        "those who do not read",
        (
            "security/test_deaf.py::test_ten_servers_that_do_not_read_have_the_room_of_one",
            "security/test_deaf.py::test_nor_have_ten_sites_that_do_not_read",
            "security/test_deaf.py::test_nor_have_they_when_clients_send_and_leave",
            "security/test_deaf.py::test_streams_that_are_resumed_and_not_read_have_the_room_of_one",
            "security/test_deaf.py::test_answers_that_nobody_takes_do_not_keep_others_from_theirs",
            "security/test_at_once.py::test_the_sum_of_all_has_a_bound_too",
        ),
        _BARE + "test_what_waits_for_ten_that_do_not_read_is_more_than_there_is",
    ),
    Attack(
        38,
        "answers that are not what they say",
        (
            _ROGUES + "test_a_strict_client_can_read_whatever_comes_of_a_call",
            "provider/server/test_malformed.py::test_a_malformed_block_is_told_instead_of_spoiling_the_whole_answer_for_the_client",
            "provider/server/test_malformed.py::test_so_are_prompts_and_resources",
        ),
        "provider/server/test_malformed.py::test_the_official_types_read_none_of_them",
    ),
    Attack(
        39,
        "words of megabytes where a name is meant",
        (
            "security/test_long_words.py::test_a_path_of_megabytes_anywhere_holds_up_nobody",
            "security/test_long_words.py::test_nor_does_one_in_any_other_request",
            "guard/test_security.py::test_arguments_that_take_long_to_judge_hold_nobody_up",
        ),
        _BARE + "test_who_follows_a_path_of_any_length_never_comes_back",
    ),
    Attack(
        40,
        "lists and questions with one wrong word, which strict clients refuse whole, for all servers",
        (
            "security/test_strict_clients.py::test_every_list_can_be_read_and_the_honest_server_answers",
            "security/test_strict_clients.py::test_so_they_can_by_the_typescript_clients",
            "security/test_strict_clients.py::test_whoever_is_asked_sees_well_formed_questions_only",
            "security/test_strict_clients.py::test_every_answer_can_be_read_or_is_an_error_that_names_the_server",
            "provider/server/test_malformed.py::test_what_clients_would_choke_on_is_told_in_its_place",
        ),
        "security/test_strict_clients.py::test_the_official_types_refuse_whole_lists_for_one_of_these",
    ),
    Attack(
        41,
        "secrets of the user's that strangers name",
        (
            _ISSUERS + "test_a_secret_we_are_registered_with_is_taken_to_the_letter",
            "auth/test_encryption.py::test_a_secret_that_looks_like_a_reference_is_moved_and_not_followed",
            "builtin/test_oauth2.py::test_and_no_other_secret_of_the_user",
            "builtin/test_oauth2.py::test_no_program_runs_because_an_agent_calls_it_a_secret",
            "auth/test_discovery.py::test_nobody_is_sent_to_an_honest_page_for_somebody_else",
            _ISSUERS + "test_a_login_at_a_page_of_somebody_else_is_refused",
            "auth/test_tokens.py::test_a_token_goes_to_those_who_gave_it_and_to_nobody_an_agent_names",
        ),
        _BARE + "test_a_reference_is_followed_whoever_wrote_it",
    ),
    Attack(
        42,
        "agents that put themselves in charge",
        (
            _CHARGE + "test_our_own_folder_is_no_part_of_a_workspace_around_it",
            _CHARGE + "test_no_agent_writes_what_it_may_do",
            _CHARGE + "test_nobody_lists_or_searches_it",
            _CHARGE + "test_git_takes_nothing_out_of_it",
            _CHARGE + "test_an_answer_to_a_question_of_ours_that_nobody_asked_counts_for_nothing",
            "security/test_lost_secrets.py::test_an_empty_token_is_made_anew_and_opens_nothing",
        ),
        _BARE + "test_a_workspace_that_is_a_home_holds_our_folder",
    ),
    Attack(
        43,
        "models that misbehave",
        (
            "delegate/test_http_client.py::test_an_answer_without_end_is_heard_no_longer_than_one_can_be",
            "delegate/test_http_client.py::test_a_packed_answer_is_not_unpacked",
            "delegate/test_http_client.py::test_nothing_follows_to_another_address",
            "delegate/test_loop.py::test_a_conversation_has_an_end_whatever_the_model_counts",
            "cli/agent/test_agent.py::test_a_name_that_a_model_makes_up_does_nothing_to_the_terminal",
        ),
        "delegate/test_http_client.py::test_a_library_alone_goes_wherever_it_is_sent",
    ),
    Attack(
        44,
        "words of strangers that talk a model into harm",
        (
            "security/test_talked_into.py::test_it_is_not_done_where_nobody_can_be_asked",
            "guard/test_exposure.py::test_nothing_is_asked_until_a_stranger_was_read",
            "guard/test_exposure.py::test_the_stateless_era_is_asked_by_input_required",
            "guard/test_exposure.py::test_a_resource_of_a_stranger_counts_and_that_of_a_friend_does_not",
        ),
        "security/test_talked_into.py::test_without_that_rule_it_is_done",
    ),
    Attack(
        45,
        "walls that are moved while they are built, or from below",
        (
            "sandbox/test_walls.py::test_whoever_swaps_a_folder_for_a_link_opens_no_secret",
            "sandbox/test_walls.py::test_so_is_a_command_a_few_times",
            "sandbox/test_walls.py::test_nor_does_landlock_open_what_a_link_leads_to",
            "sandbox/test_attacks.py::test_behind_a_wall_nobody_has_mounts_of_their_own",
            "sandbox/test_attacks.py::test_what_is_mounted_somewhere_is_not_moved_from_where_it_is_not",
        ),
        "sandbox/test_walls.py::test_without_a_look_at_the_walls_it_is_open",
    ),
)
