"use strict";
// How does a reader walk through a trace? The timeline of a report: one row a step, a lane for each who acts, and the
// threads of values. It draws only the rows in sight, so that a step more costs nothing. Words come from the tables of
// the page, so that they stand in it once, and enter it as text nodes only: nothing here parses markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHTS = [4, 11, 26, 46]; // of a row in pixels, by zoom
  const WORDS = 26; // the least height that has words; beyond it a row has two lines
  const HEADS = 96; // height of the lanes' names
  const [NAME, SLANT] = [12, 0.66]; // size of such a name in pixels, and its least slant in radians
  const BEYOND = 12; // rows drawn above and below those in sight
  const ON_PAPER = 150; // rows: beyond it, a print has the tables only
  const TRACKS = 6;
  const [AT, WHAT, WHO, SAID, WHERE] = [1, 2, 3, 4, 6]; // cells of a row of the table
  const LOUD = ["medium", "high", "critical"];
  const BACK = {
    requests: "asked for by", returns: "answers", feeds: "was shown", handoff: "handed over by",
    retry: "tries again", parent: "inside of", link: "linked from", next: "comes after",
  };
  const FORTH = {
    requests: "asked for", returns: "answered by", feeds: "shown to", handoff: "handed over to",
    retry: "tried again by", parent: "contains", link: "links to", next: "comes before",
  };

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  function draw(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function take(ends, top, end) {
    // Whether these rows of a track are free; then they are taken. `ends` are disjoint and ascending.
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle][1] < top) low = middle + 1;
      else high = middle;
    }
    if (low < ends.length && ends[low][0] <= end) return false;
    ends.splice(low, 0, [top, end]);
    return true;
  }

  function fit(drawn, room) {
    // What of a name is too long for its room goes from its middle: names of one family begin alike.
    const letters = Array.from(drawn.textContent);
    let left = letters.length;
    while (left > 3 && drawn.getComputedTextLength() > room) {
      left = Math.min(left - 1, Math.floor((left * room) / drawn.getComputedTextLength()));
      const end = Math.floor((left - 1) / 3);
      drawn.textContent = [...letters.slice(0, left - 1 - end), "…", ...letters.slice(letters.length - end)].join("");
    }
  }

  const text = (step, cell) => document.getElementById(`s${step}`)?.cells[cell]?.textContent ?? "";

  class Timeline {
    constructor(root, data) {
      this.root = root;
      this.data = data;
      this.id = root.id;
      this.read();
      this.build();
      this.zoom = matchMedia("(max-width: 40rem)").matches ? 3 : 2;
      this.chosen = this.step.get(data.start) ?? this.steps.find((step) => step.deciding) ?? this.steps[0];
      this.filter();
      this.tell(this.chosen);
      root.hidden = false;
      this.lay();
    }

    // what the page says ------------------------------------------------------------------------------------------

    read() {
      const { words, steps, edges, threads, findings } = this.data;
      this.steps = steps.map(([index, lane, kind, name, tool, effect, outcome, decision, call, result, deciding]) => ({
        index, lane, kind: words[kind], name: words[name], tool: words[tool], effect: words[effect],
        outcome: words[outcome], decision: words[decision], call, result, deciding: Boolean(deciding),
        into: [], from: [], mints: [], holds: [], findings: [],
      }));
      this.step = new Map(this.steps.map((step) => [step.index, step]));
      for (const step of this.steps) step.tool ||= this.step.get(step.call)?.tool ?? "";
      this.edges = [];
      for (const [source, target, kind, basis] of edges) {
        const edge = { source: this.step.get(source), target: this.step.get(target), kind: words[kind], basis: words[basis] };
        if (!edge.source || !edge.target) continue;
        this.edges.push(edge);
        edge.source.from.push(edge);
        edge.target.into.push(edge);
      }
      this.threads = threads.map(([value, kind, minted, uses]) => ({
        value: words[value], kind: words[kind], reference: words[kind] === "reference", mint: this.step.get(minted),
        uses: uses.map(([step, role, basis]) => ({ step: this.step.get(step), role: words[role], basis: words[basis] })),
      }));
      for (const [number, thread] of this.threads.entries()) {
        thread.hue = number % TRACKS;
        thread.mint?.mints.push(thread);
        for (const use of thread.uses) use.step?.holds.push({ thread, use });
      }
      this.findings = findings.map(([number, code, severity, about]) => ({
        number, code: words[code], severity: words[severity], about: new Set(about),
      }));
      for (const finding of this.findings) {
        for (const index of finding.about) this.step.get(index)?.findings.push(finding);
      }
    }

    // what stands on the page -------------------------------------------------------------------------------------

    build() {
      this.chosenBy = {
        tool: this.select("Tool", [...new Set(this.steps.filter((s) => s.call >= 0).map((s) => s.name))]),
        class: this.select("Class", [...new Set(this.steps.map((s) => s.tool).filter(Boolean))]),
        finding: this.select("Finding", [...new Set(this.findings.map((f) => f.code))]),
        value: this.select("Value", [...new Set(this.threads.filter((t) => !t.reference).map((t) => t.value))].slice(0, 500)),
      };
      const range = `steps ${this.steps[0]?.index ?? 0} to ${this.steps.at(-1)?.index ?? 0}`;
      this.count = make("output", { "aria-live": "polite" });
      const zooms = [["Zoom out", "−", -1], ["Zoom in", "+", 1]].map(([label, sign, by]) => {
        const button = make("button", { type: "button", "aria-label": label, title: label }, sign);
        button.addEventListener("click", () => this.zoomBy(by));
        return button;
      });
      const bar = make("div", { class: "bar", role: "group", "aria-label": "Filter and zoom" });
      bar.append(...Object.values(this.chosenBy).map((one) => one.parentElement), make("span", { class: "zooms" }, ...zooms), this.count);
      this.heads = draw("svg", { class: "heads", "aria-hidden": "true", height: HEADS });
      this.picture = draw("svg", { class: "picture", "aria-hidden": "true" });
      this.rowsOf = make("div", { class: "rows", role: "presentation" });
      this.list = make("div", { class: "canvas", role: "listbox", tabindex: "0", "aria-label": `In causal order, ${range}` });
      this.list.append(this.picture, this.rowsOf);
      this.view = make("div", { class: "view" }, this.heads, this.list);
      this.detail = make("aside", { class: "detail", tabindex: "-1", "aria-label": `The chosen one of ${range}` });
      const legend = make("p", { class: "quiet small" }, this.root.dataset.legend);
      const keys = make("p", { class: "quiet small keys" }, this.root.dataset.keys);
      this.root.append(bar, make("div", { class: "board" }, this.view, this.detail), legend, keys);
      this.view.addEventListener("scroll", () => this.soon());
      this.list.addEventListener("keydown", (event) => this.key(event));
      this.detail.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.list.focus();
      });
      this.list.addEventListener("click", (event) => {
        const row = event.target.closest("[data-step]");
        if (row) this.choose(Number(row.dataset.step), true);
      });
      new ResizeObserver(() => this.lay()).observe(this.root);
    }

    select(label, options) {
      const made = make("select", {}, make("option", { value: "" }, "all"));
      made.append(...options.map((one) => make("option", { value: one }, one.length > 40 ? `${one.slice(0, 39)}…` : one)));
      made.disabled = options.length === 0;
      made.addEventListener("change", () => {
        this.filter();
        this.lay();
      });
      make("label", {}, `${label} `, made);
      return made;
    }

    // which steps -------------------------------------------------------------------------------------------------

    filter() {
      const [tool, kind, code, value] = ["tool", "class", "finding", "value"].map((name) => this.chosenBy[name].value);
      this.shown = this.steps.filter((step) =>
        (!tool || (step.call >= 0 && step.name === tool)) &&
        (!kind || step.tool === kind) &&
        (!code || step.findings.some((finding) => finding.code === code)) &&
        (!value || step.mints.some((t) => t.value === value) || step.holds.some(({ thread }) => thread.value === value)));
      this.row = new Map(this.shown.map((step, row) => [step, row]));
      this.lines = this.edges.filter((edge) => this.row.has(edge.source) && this.row.has(edge.target));
      this.ways = this.waysOf();
      this.count.textContent = `${this.shown.length} of ${this.steps.length} steps`;
      if (!this.row.has(this.chosen) && this.shown.length) this.tell((this.chosen = this.shown[0]));
    }

    waysOf() {
      // Each way takes the first track that is free between its ends; minted values choose before references.
      const taken = Array.from({ length: TRACKS }, () => []);
      const found = this.threads.map((thread) => {
        const rows = thread.uses.filter((use) => use.role !== "branch" && this.row.has(use.step)).map((use) => this.row.get(use.step));
        return { thread, mint: this.row.get(thread.mint), uses: [...new Set(rows)] };
      }).filter((way) => way.mint !== undefined && way.uses.length);
      found.sort((a, b) => a.thread.reference - b.thread.reference || a.mint - b.mint);
      for (const way of found) {
        [way.top, way.end] = [Math.min(way.mint, ...way.uses), Math.max(way.mint, ...way.uses)];
        way.track = taken.findIndex((ends) => take(ends, way.top, way.end));
      }
      return found;
    }

    // where it stands ---------------------------------------------------------------------------------------------

    lay() {
      const width = this.view.clientWidth;
      const lanes = this.data.lanes.length;
      const used = this.ways.reduce((most, way) => Math.max(most, way.track + 1), 0);
      this.pitch = HEIGHTS[this.zoom];
      this.lane = Math.max(9, Math.min(24, (width * 0.34) / Math.max(lanes, 1)));
      this.track = width < 600 ? 6 : 9;
      this.gutter = Math.round(this.lane * lanes + (used ? this.track * used + 8 : 0) + 8);
      this.list.style.height = `${Math.max(this.shown.length * this.pitch, 1)}px`;
      this.list.style.setProperty("--gutter", `${this.gutter}px`);
      this.list.classList.toggle("wordless", this.pitch < WORDS);
      this.list.classList.toggle("tall", this.pitch > WORDS);
      this.head(width);
      this.paint();
    }

    head(width) {
      // The nearer the lanes, the steeper their names, so that these stay a line apart; at last they are smaller too.
      const size = Math.min(NAME, this.lane);
      const slant = Math.max(SLANT, Math.asin(Math.min(1, (size * 1.05) / this.lane)));
      const names = this.data.lanes.map(([kind, name], lane) => draw("text", {
        class: `lane-${kind}`, "font-size": size,
        transform: `translate(${this.x(lane) + 3} ${HEADS - 8}) rotate(${((-slant * 180) / Math.PI).toFixed(1)})`,
      }, name));
      this.heads.setAttribute("width", Math.max(width, 1));
      this.heads.replaceChildren(...names);
      for (const one of names) fit(one, (HEADS - 11 - size * Math.cos(slant)) / Math.sin(slant));
    }

    x(lane) { return Math.round((lane + 0.5) * this.lane) + 4; }

    y(row) { return (row + 0.5) * this.pitch - this.offset; }

    trackX(way) { return this.gutter - 8 - way.track * this.track; }

    soon() {
      if (this.waiting) return;
      this.waiting = requestAnimationFrame(() => {
        this.waiting = 0;
        this.paint();
      });
    }

    paint() {
      const whole = this.root.classList.contains("whole");
      const seen = Math.max(this.view.scrollTop - HEADS, 0);
      this.first = whole ? 0 : Math.max(0, Math.floor(seen / this.pitch) - BEYOND);
      this.last = whole ? this.shown.length
        : Math.min(this.shown.length, Math.ceil((seen + this.view.clientHeight) / this.pitch) + BEYOND);
      this.offset = this.first * this.pitch;
      const height = Math.max((this.last - this.first) * this.pitch, 1);
      this.picture.style.top = this.rowsOf.style.top = `${this.offset}px`;
      this.picture.setAttribute("width", this.gutter);
      this.picture.setAttribute("height", height);
      this.picture.replaceChildren(...this.rails(height), ...this.paths(), ...this.threadsInSight(), ...this.dots());
      this.rowsOf.replaceChildren(...this.shown.slice(this.first, this.last).map((step, at) => this.option(step, this.first + at)));
      const active = this.row.get(this.chosen);
      if (active >= this.first && active < this.last) this.list.setAttribute("aria-activedescendant", this.name(this.chosen));
      else this.list.removeAttribute("aria-activedescendant");
    }

    name(step) { return `${this.id}-${step.index}`; }

    option(step, row) {
      const made = make("div", {
        role: "option", id: this.name(step), class: `row${step.deciding ? " deciding" : ""}`, "data-step": step.index,
        "aria-selected": String(step === this.chosen), "aria-setsize": this.shown.length, "aria-posinset": row + 1,
      });
      made.style.height = `${this.pitch}px`;
      if (this.pitch < WORDS) {
        made.setAttribute("aria-label", `${step.index} ${text(step.index, WHAT)} ${text(step.index, WHO)}`);
        return made;
      }
      const decides = step.deciding ? [make("em", { class: "chip refused" }, "decides")] : [];
      made.append(
        make("span", { class: "who" },
          make("span", { class: "number" }, String(step.index)),
          make("span", { class: "what" }, text(step.index, WHAT)),
          make("b", {}, text(step.index, WHO))),
        make("span", { class: "said" }, ...decides, ...this.chips(step), text(step.index, SAID).slice(0, 300)),
      );
      return made;
    }

    chips(step) {
      const told = [...step.mints.filter((t) => !t.reference).map((t) => [`mints ${t.value}`, t]),
        ...step.holds.filter(({ thread, use }) => !thread.reference && use.role !== "branch").map(({ thread }) => [`holds ${thread.value}`, thread])];
      const unique = [...new Map(told.map((one) => [one[0], one])).values()];
      const found = unique.slice(0, 2).map(([words, thread]) => make("em", { class: `chip thread-${thread.hue}` }, words.slice(0, 60)));
      if (unique.length > 2) found.push(make("em", { class: "chip" }, `${unique.length - 2} more`));
      const worst = step.findings.filter((finding) => LOUD.includes(finding.severity));
      return [...found, ...worst.slice(0, 1).map((finding) => make("em", { class: `chip ${finding.severity}` }, finding.code))];
    }

    // lines and dots ----------------------------------------------------------------------------------------------

    rails(height) {
      return this.data.lanes.map(([kind], lane) => draw("path", { class: `rail lane-${kind}`, d: `M${this.x(lane)} 0V${height}` }));
    }

    inSight(top, end) { return end >= this.first && top <= this.last; }

    paths() {
      const found = [];
      for (const edge of this.lines) {
        const [from, to] = [this.row.get(edge.source), this.row.get(edge.target)];
        if (!this.inSight(Math.min(from, to), Math.max(from, to))) continue;
        if (edge.kind === "next" && Math.abs(from - to) > 1) continue;
        const on = edge.source === this.chosen || edge.target === this.chosen ? " on" : "";
        found.push(draw("path", { class: `edge ${edge.kind} ${edge.basis}${on}`, d: this.path(edge, from, to) }));
      }
      return found;
    }

    path(edge, from, to) {
      const [x1, y1, x2, y2] = [this.x(edge.source.lane), this.y(from), this.x(edge.target.lane), this.y(to)];
      if (x1 === x2) return `M${x1} ${y1}V${y2}`;
      const bend = Math.min(6, Math.abs(y2 - y1), Math.abs(x2 - x1));
      const [across, down] = [x2 > x1 ? bend : -bend, y2 > y1 ? bend : -bend];
      return x2 > x1 // to the right: along its own row, then down the lane; to the left: down, then along the row
        ? `M${x1} ${y1}H${x2 - across}Q${x2} ${y1} ${x2} ${y1 + down}V${y2}`
        : `M${x1} ${y1}V${y2 - down}Q${x1} ${y2} ${x1 + across} ${y2}H${x2}`;
    }

    threadsInSight() {
      const found = [];
      for (const way of this.ways) {
        if (way.track < 0 || !this.inSight(way.top, way.end)) continue;
        const x = this.trackX(way);
        const on = way.thread.mint === this.chosen || way.thread.uses.some((use) => use.step === this.chosen) ? " on" : "";
        const kind = way.thread.reference ? "reference" : `thread-${way.thread.hue}`;
        const ends = [way.mint, ...way.uses].map((row) => `M${this.x(this.shown[row].lane)} ${this.y(row)}H${x}`);
        const heads = way.uses.map((row) => this.arrow(this.x(this.shown[row].lane) + 7, this.y(row)));
        found.push(
          draw("path", { class: `thread ${kind}${on}`, d: `${ends.join("")}M${x} ${this.y(way.top)}V${this.y(way.end)}` }),
          draw("path", { class: `tip ${kind}`, d: heads.join("") }),
        );
      }
      return found;
    }

    arrow(x, y) { return this.pitch < WORDS ? "" : `M${x} ${y}l6 -3.5v7z`; }

    dots() {
      return this.shown.slice(this.first, this.last).map((step, at) => {
        const [x, y] = [this.x(step.lane), this.y(this.first + at)];
        const size = Math.max(1.5, Math.min(6, this.pitch / 3));
        const looks = `dot ${step.kind} ${step.tool}${step === this.chosen ? " on" : ""}`;
        if (step.kind === "tool_call" || step.kind === "tool_result") {
          return draw("rect", { class: looks, x: x - size, y: y - size, width: 2 * size, height: 2 * size, rx: 1.5 });
        }
        return draw("circle", { class: looks, cx: x, cy: y, r: size });
      });
    }

    // what a reader does ------------------------------------------------------------------------------------------

    key(event) {
      const page = Math.max(1, Math.floor(this.view.clientHeight / this.pitch) - 2);
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
      if (by !== undefined) {
        const row = Math.min(Math.max((this.row.get(this.chosen) ?? 0) + by, 0), this.shown.length - 1);
        if (this.shown[row]) this.choose(this.shown[row].index, true);
      } else if (event.key === "Enter") this.detail.focus();
      else if (event.key === "+" || event.key === "-") this.zoomBy(event.key === "+" ? 1 : -1);
      else return;
      event.preventDefault();
    }

    zoomBy(by) {
      const middle = (this.view.scrollTop + this.view.clientHeight / 2) / this.pitch;
      this.zoom = Math.min(Math.max(this.zoom + by, 0), HEIGHTS.length - 1);
      this.lay();
      this.view.scrollTop = middle * this.pitch - this.view.clientHeight / 2;
    }

    choose(index, here) {
      const step = this.step.get(index);
      if (!step) return;
      if (!this.row.has(step)) {
        for (const one of Object.values(this.chosenBy)) one.value = "";
        this.filter();
        this.lay();
      }
      this.chosen = step;
      this.tell(step);
      this.reveal(this.row.get(step));
      this.paint();
      if (!here) {
        this.root.scrollIntoView({ block: "start" });
        this.list.focus({ preventScroll: true });
      }
    }

    reveal(row) {
      const [top, bottom] = [row * this.pitch, (row + 1) * this.pitch + HEADS];
      if (top < this.view.scrollTop) this.view.scrollTop = Math.max(top - this.pitch, 0);
      else if (bottom > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = bottom + this.pitch - this.view.clientHeight;
    }

    // the chosen step ---------------------------------------------------------------------------------------------

    tell(step) {
      if (!step) return;
      const number = step.index;
      const marks = [step.tool, step.effect && `effect ${step.effect}`, step.outcome, step.decision && `a rerun would ${step.decision} it`];
      this.detail.replaceChildren(
        make("h3", {}, `Step ${number}: ${text(number, WHAT)} ${text(number, WHO)}`),
        make("p", { class: "marks" }, ...marks.filter(Boolean).map((word) => make("span", { class: `chip ${word}` }, word))),
        ...(text(number, AT) ? [make("p", { class: "quiet" }, text(number, AT))] : []),
        ...this.findingsOf(step),
        ...this.tuple(step),
        ...this.values(step),
        ...this.ties(step),
        ...this.bytes(step),
      );
      this.detail.scrollTop = 0;
    }

    findingsOf(step) {
      return step.findings.slice(0, 8).map((finding) => make("p", { class: `finding ${finding.severity}` },
        `${finding.severity}: `, make("a", { href: `#f${finding.number}` }, finding.code)));
    }

    tuple(step) {
      // (prompt, model output, call, result): the unit of static inspection
      const call = step.call >= 0 ? this.step.get(step.call) : null;
      const turn = call ? call.into.find((edge) => edge.kind === "requests")?.source : step;
      const prompt = turn?.into.filter((edge) => edge.kind === "feeds").map((edge) => edge.source) ?? [];
      const result = call ? this.step.get(step.result) : null;
      const parts = turn?.kind === "model" || call
        ? [["Prompt: last shown", prompt.at(-1)], ["Model output", turn], ["Tool call", call], ["Tool result", result]]
        : [["What it says", step]];
      const rows = parts.filter(([, of]) => of).flatMap(([title, of]) => [
        make("dt", {}, `${title} `, of === step ? make("span", {}, `step ${of.index}`) : this.link(of)),
        make("dd", {}, text(of.index, SAID) || "(no text recorded)"),
      ]);
      return [make("dl", { class: "tuple" }, ...rows)];
    }

    values(step) {
      const rows = step.mints.slice(0, 20).map((thread) => make("li", {},
        make("code", {}, thread.value), thread.reference ? " read here, then in " : " minted here, then in ",
        ...this.uses(thread)));
      rows.push(...step.holds.slice(0, 20).map(({ thread, use }) => make("li", {},
        make("code", {}, thread.value), ` of `, this.link(thread.mint), use.role === "branch" ? `: shown, may rest on it (${use.basis})` : `: ${use.role.replace("_", " ")} (${use.basis})`)));
      return rows.length ? [make("h4", {}, "Values"), make("ul", {}, ...rows)] : [];
    }

    uses(thread) {
      if (!thread.uses.length) return ["no later step"];
      return thread.uses.slice(0, 8).flatMap((use, at) => [at ? ", " : "", this.link(use.step), ` ${use.role.replace("_", " ")}`]);
    }

    ties(step) {
      const told = (edges, words, far) => edges.slice(0, 12).map((edge) => make("li", {},
        `${words[edge.kind] ?? edge.kind} `, this.link(edge[far]), ` (${edge.basis})`));
      const rows = [...told(step.into, BACK, "source"), ...told(step.from, FORTH, "target")];
      return rows.length ? [make("h4", {}, "Why, and what it led to"), make("ul", {}, ...rows)] : [];
    }

    bytes(step) {
      const found = [make("h4", {}, "The bytes it came from"), make("p", { class: "where" }, text(step.index, WHERE))];
      const [command, before] = this.data.inspect ?? [];
      if (command) found.push(make("pre", {}, `${command} --step ${step.index - before}`));
      return found;
    }

    link(step) {
      if (!step) return "a step that is not drawn";
      const made = make("button", { type: "button", class: "to" }, `step ${step.index}`);
      made.addEventListener("click", () => this.choose(step.index, true));
      return made;
    }

    paper(on) {
      this.root.classList.toggle("whole", on && this.shown.length <= ON_PAPER);
      this.lay();
    }
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  const timelines = new Map(); // made when they come into sight first

  function timeline(one) {
    if (!timelines.has(one.id)) timelines.set(one.id, new Timeline(document.getElementById(one.id), one));
    return timelines.get(one.id);
  }

  for (const one of data.timelines) {
    const around = document.getElementById(one.id).closest("details");
    if (!around || around.open) timeline(one);
    else around.addEventListener("toggle", () => timeline(one), { once: true });
  }

  function follow(hash, here = false) {
    const index = Number(/^#s(\d+)$/.exec(hash)?.[1] ?? -1);
    const one = data.timelines.find(({ steps }) => steps.length && steps[0][0] <= index && index <= steps.at(-1)[0]);
    if (!one) return false;
    const around = document.getElementById(one.id).closest("details");
    if (around) around.open = true;
    timeline(one).choose(index, here);
    return true;
  }

  follow(location.hash, true); // the browser goes to the row itself

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#s"]');
    if (!link || link.closest(".steps") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!follow(link.getAttribute("href"))) return;
    event.preventDefault();
    history.replaceState(null, "", link.getAttribute("href"));
  });
  const print = (on) => timelines.forEach((one) => one.paper(on));
  matchMedia("print").addEventListener("change", (paper) => print(paper.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
})();
