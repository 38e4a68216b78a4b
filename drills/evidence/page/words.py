"""The words of the page in English and Vietnamese. What a run itself said stays as it said it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Words(NamedTuple):
    """One text in both languages."""

    en: str
    vi: str


VERDICTS = {
    "PASS": Words("PASS", "ĐẠT"),
    "FAIL": Words("FAIL", "KHÔNG ĐẠT"),
    "UNKNOWN": Words("UNKNOWN", "CHƯA RÕ"),
    "BLOCKED": Words("BLOCKED", "BỊ CHẶN"),
    "NOT RUN": Words("NOT RUN", "CHƯA CHẠY"),
}

SETS = {
    "lost": Words("lost: confirmed, and nowhere", "mất: đã xác nhận nhưng không còn ở đâu"),
    "unexpected": Words("unexpected: done, and never sent", "ngoài dự kiến: có tác dụng mà chưa từng gửi"),
    "duplicate_effect": Words("done more than once", "tác dụng lặp lại"),
    "unresolved": Words("unresolved: outcome unknown", "chưa ngã ngũ: không rõ kết quả"),
    "recovered": Words("recovered: outcome unknown, and done", "khôi phục: không rõ kết quả nhưng đã thực hiện"),
    "duplicate_delivery": Words("delivered more than once (allowed)", "giao hơn một lần (cho phép)"),
    "attempted": Words("attempted", "đã thử gửi"),
    "pending": Words("left pending", "bỏ dở, chưa rõ"),
    "confirmed": Words("confirmed", "đã xác nhận"),
    "returned": Words("returned", "bị trả lại"),
    "nacked": Words("refused by the broker (nack)", "broker từ chối (nack)"),
    "unknown": Words("answer never came", "không có trả lời"),
    "delivered": Words("delivered", "đã giao"),
    "effects": Words("done", "đã thực hiện"),
    "quarantined": Words("quarantined", "cách ly"),
    "dead_letters": Words("in dead-letter queues", "trong hàng đợi thư chết"),
    "retry_decisions": Words("decided about (retry, give up)", "đã quyết định (gửi lại, bỏ)"),
}
MUST_BE_EMPTY = ("lost", "unexpected", "duplicate_effect", "unresolved")

LABELS = {
    "criteria": Words("Criteria", "Tiêu chí"),
    "controls": Words("Negative controls", "Đối chứng âm"),
    "controls_why": Words(
        "Wrong designs on purpose. They have to show their wrong result; it is no evidence for the application.",
        "Thiết kế sai có chủ ý. Chúng phải cho thấy kết quả sai; đó không phải bằng chứng rằng ứng dụng đúng.",
    ),
    "recovery": Words("Recovery times", "Thời gian phục hồi"),
    "detection": Words("to detection", "đến khi phát hiện"),
    "service": Words("to service", "đến khi phục vụ lại"),
    "drained": Words("to drained", "đến khi hết tồn đọng"),
    "not_measured": Words("not measured", "không đo"),
    "over_time": Words("Over time", "Theo thời gian"),
    "overview": Words("The whole run", "Toàn bộ lần chạy"),
    "no_samples": Words(
        "No metric of this case's own was sampled while it ran.",
        "Không có số đo nào của ca này được lấy mẫu khi nó chạy.",
    ),
    "reconciliation": Words("Reconciliation, ID by ID", "Đối soát, từng ID"),
    "no_account": Words(
        "Nothing was reconciled: the effects were not read.", "Không đối soát: chưa đọc được tác dụng."
    ),
    "drain_proven": Words("drain proven", "đã chứng minh hết tồn đọng"),
    "undrained": Words("not drained", "chưa hết tồn đọng"),
    "last_seen": Words("last seen", "thấy lần cuối"),
    "changes": Words("Faults and changes, with their proof", "Lỗi gây ra và thay đổi, kèm bằng chứng"),
    "what": Words("what", "nội dung"),
    "bite": Words("proof that it took effect", "bằng chứng có hiệu lực"),
    "undone": Words("undone", "hoàn tác"),
    "still_standing": Words("STILL IN PLACE", "VẪN CÒN"),
    "no_bite": Words("no proof", "không có bằng chứng"),
    "checker": Words("The checker, checked", "Kiểm tra bộ đối soát"),
    "checker_good": Words(
        "The reconciler was first fed events of known fate and objected to each by its ID.",
        "Bộ đối soát trước tiên được đưa các sự kiện đã biết số phận và phản đối đúng từng ID.",
    ),
    "checker_bad": Words(
        "The reconciler did not object to all it was fed: nothing that it says proves anything.",
        "Bộ đối soát không phản đối hết những gì được đưa vào: mọi điều nó nói đều không chứng minh gì.",
    ),
    "checker_none": Words("The reconciler was not checked.", "Bộ đối soát chưa được kiểm tra."),
    "about": Words("Parameters, versions, files", "Tham số, phiên bản, tệp"),
    "parameters": Words("Parameters, fixed before the run", "Tham số, cố định trước khi chạy"),
    "versions": Words("Versions", "Phiên bản"),
    "workers": Words("Processes", "Tiến trình"),
    "timeline": Words("Timeline", "Dòng thời gian"),
    "entries": Words("entries", "mục"),
    "evidence": Words("evidence", "bằng chứng"),
    "cases": Words("cases", "ca"),
    "facts": Words("facts read", "dữ kiện đã đọc"),
    "target": Words("target", "cụm đích"),
    "seed": Words("seed", "seed"),
    "began": Words("began", "bắt đầu"),
    "lasted": Words("lasted", "kéo dài"),
    "exit_code": Words("exit code", "mã thoát"),
    "quick": Words(
        "quick: smaller counts; it does not claim the full criteria",
        "chạy nhanh: số lượng nhỏ hơn; không khẳng định đủ tiêu chí",
    ),
    "all": Words("all", "tất cả"),
    "not_begun": Words("not begun", "chưa bắt đầu"),
    "nothing": Words("none", "không có"),
}


def headline(told: Mapping[str, Any]) -> Words:
    """What came out, in one sentence that fits however the drill's question is put."""
    numbers = {verdict: _numbers(told, verdict) for verdict in VERDICTS}
    passed, total = len(numbers["PASS"]), len(told["criteria"])
    if told["verdict"] == "FAIL":
        failed = ", ".join(numbers["FAIL"])
        return Words(f"Criterion {failed} failed.", f"Tiêu chí {failed} không đạt.")
    if told["verdict"] == "NOT RUN":
        return Words("No criterion was judged.", "Chưa tiêu chí nào được đánh giá.")
    if told["verdict"] == "PASS" and passed == total and told["quick"]:
        return Words(
            f"All {total} criteria passed with a quick run's smaller counts.",
            f"Cả {total} tiêu chí đạt với số lượng nhỏ của lần chạy nhanh.",
        )
    if told["verdict"] == "PASS" and passed == total:
        return Words(f"All {total} criteria were proven.", f"Cả {total} tiêu chí đã được chứng minh.")
    if told["verdict"] == "PASS":
        proven = ", ".join(numbers["PASS"])
        return Words(
            f"Proven, of {total} criteria: {proven}. The others were not asked for.",
            f"Đã chứng minh, trong {total} tiêu chí: {proven}. Các tiêu chí khác không được yêu cầu.",
        )
    return Words(
        f"Not proven: {passed} of {total} criteria passed, the others are open.",
        f"Chưa chứng minh được: {passed} trên {total} tiêu chí đạt, còn lại bỏ ngỏ.",
    )


def alarms(told: Mapping[str, Any]) -> list[Words]:
    """What a person has to know before anything else."""
    found = []
    standing = [one for one in told["changes"] if one["standing"]]
    if told["exit"]["rollback_failed"]:
        found.append(Words("The rollback FAILED. A person is needed.", "Hoàn tác THẤT BẠI. Cần người xử lý."))
    if standing:
        left = "; ".join(f"{one['kind']} {' '.join(map(str, one['arguments'].values()))}" for one in standing)
        recover = f"mq-drill recover {told['run']}"
        found.append(Words(f"Still in place: {left}. Run: {recover}", f"Vẫn còn: {left}. Hãy chạy: {recover}"))
    if told["state"] == "running":
        found.append(
            Words(
                "This run is not finished, or its driver was killed: what is below is what was stored until then.",
                "Lần chạy chưa kết thúc, hoặc trình điều khiển đã bị giết: dưới đây là những gì đã lưu.",
            )
        )
    if told["state"] in ("aborted", "refused"):
        why = told["ended_because"] or "?"
        found.append(Words(f"This run was {told['state']}: {why}", f"Lần chạy bị dừng ({told['state']}): {why}"))
    if told["checker"] and (told["checker"]["missed"] or told["checker"]["error"]):
        found.append(LABELS["checker_bad"])
    return found


def _numbers(told: Mapping[str, Any], verdict: str) -> list[str]:
    return [str(one["number"]) for one in told["criteria"] if one["verdict"] == verdict]
