// Keeps an open page up to date. It asks for the page again every 15 seconds, while it can be seen, and changes what has
// changed. Where the reader is stays as it is: the focus, what is unfolded, forms, and a text that is being copied.
"use strict";

(() => {
  const EVERY = 15_000, RAREST = 300_000, DEADLINE = 10_000, MOST_TICKS = 100;

  const place = document.getElementById("as-of"), time = place.querySelector("time");
  const button = document.createElement("button"), trouble = document.createElement("span");
  let tag = time.dataset.tag, wait = EVERY, timer = 0, paused = false, asking = false;

  const ticks = () => [...document.querySelectorAll('input[form="ticked"]')];
  const all = document.createElement("button");
  all.type = "button";
  all.textContent = ticks().length > MOST_TICKS ? `Tick the first ${MOST_TICKS}` : "Tick all";
  all.addEventListener("click", () => {
    const first = ticks().slice(0, MOST_TICKS), tick = first.some((each) => !each.checked);
    for (const each of ticks()) each.checked = tick && first.includes(each);
    keepTicks();
  });
  document.querySelector("#ticked .actions")?.append(all);
  document.addEventListener("change", (event) => { if (ticks().includes(event.target)) keepTicks(); });
  restoreTicks();

  button.type = "button";
  trouble.setAttribute("role", "status");
  place.append(" ", button, " ", trouble);
  name();
  button.addEventListener("click", () => { paused = !paused; name(); refresh(); });
  document.addEventListener("visibilitychange", refresh);
  timer = setTimeout(refresh, wait);

  // Ticks are there again for who comes back from a confirmation without having done it, or goes back in the history.
  function keepTicks() {
    sessionStorage.setItem(`ticked ${location.href}`, JSON.stringify(ticks().filter((each) => each.checked).map((each) => each.value)));
  }

  function restoreTicks() {
    const kept = `ticked ${location.href}`, from = document.referrer.split("?")[0];
    const comesBack = /\/(confirm|act)$/.test(from) || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
    if (comesBack && !document.querySelector(".said")) {
      const values = JSON.parse(sessionStorage.getItem(kept) ?? "[]");
      for (const each of ticks()) each.checked = values.includes(each.value);
    } else {
      sessionStorage.removeItem(kept);
    }
  }

  function name() {
    button.textContent = paused ? "Go on" : "Pause";
    button.title = paused ? "Refresh this page again" : "Do not refresh this page";
  }

  async function refresh() {
    clearTimeout(timer);
    if (paused || document.hidden || asking) return;
    asking = true;
    try {
      const answer = await fetch(location.href, {
        headers: { "If-None-Match": tag, "X-Refresh": "1" }, cache: "no-store", redirect: "error",
        signal: AbortSignal.timeout(DEADLINE),
      });
      if (answer.status === 200) {
        const text = await answer.text();
        if (isBusy()) throw new Error("a text is selected");
        show(new DOMParser().parseFromString(text, "text/html"));
        tag = answer.headers.get("ETag");
      } else if (answer.status !== 304) {
        const over = answer.status === 401;
        throw new Error(over ? "the session has ended: load the page again" : `the service answers ${answer.status}`);
      }
      at(new Date(Date.parse(answer.headers.get("Date")) || Date.now()));
      wait = EVERY;
      trouble.textContent = "";
    } catch (error) {
      wait = Math.min(2 * wait, RAREST);
      const why = /^(the service|the session|a text)/.test(error.message) ? error.message : "the service does not answer";
      trouble.textContent = `Not refreshed: ${why}.`;
    } finally {
      asking = false;
      if (!paused) timer = setTimeout(refresh, wait);
    }
  }

  function at(moment) {
    const text = moment.toISOString();
    time.dateTime = `${text.slice(0, 19)}Z`;
    time.textContent = `${text.slice(11, 19)} UTC`;
  }

  // A selected text would be lost, and with it a command that is about to be copied.
  function isBusy() {
    const selection = getSelection();
    return !selection.isCollapsed && document.querySelector("main").contains(selection.anchorNode);
  }

  function show(fresh) {
    const focused = document.activeElement;
    document.title = fresh.title;
    patch(document.querySelector("main"), fresh.querySelector("main"));
    // A row that has moved has lost it.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
  }

  // A row is known by its item, or by where its first link leads, and a box by its value: neither becomes another one
  // while somebody is about to use it.
  function key(node) {
    if (node.nodeName === "INPUT") return node.value;
    return node.nodeName === "TR" ? node.dataset.item ?? node.querySelector("a")?.getAttribute("href") : undefined;
  }

  function patch(old, fresh) {
    if (old.isEqualNode(fresh) || old.nodeName === "FORM") return;
    if (old.nodeName !== fresh.nodeName || key(old) !== key(fresh)) {
      old.replaceWith(fresh);
    } else if (old.nodeType !== Node.ELEMENT_NODE) {
      old.data = fresh.data;
    } else {
      attributes(old, fresh);
      children(old, [...fresh.childNodes]);
    }
  }

  function attributes(old, fresh) {
    for (const each of [...old.attributes]) {
      if (!fresh.hasAttribute(each.name) && each.name !== "open") old.removeAttribute(each.name);
    }
    for (const each of fresh.attributes) old.setAttribute(each.name, each.value);
  }

  function children(old, wanted) {
    const known = new Map([...old.childNodes].map((each) => [key(each), each]));
    wanted.forEach((fresh, index) => {
      const own = key(fresh), at = old.childNodes[index];
      const same = own !== undefined && known.get(own);
      known.delete(own);
      if (same && same !== at) old.insertBefore(same, at ?? null);
      const found = same || at;
      if (found) patch(found, fresh); else old.append(fresh);
    });
    while (old.childNodes.length > wanted.length) old.lastChild.remove();
  }
})();
