// What holds on every page. Each function returns what is wrong, in words; the tests expect an empty list.
(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();

  // A colour of CSS, in whatever notation, as [red, green, blue, alpha].
  function colour(text) {
    if (!known.has(text)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = text;
      brush.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
      known.set(text, [red, green, blue, alpha / 255]);
    }
    return known.get(text);
  }

  const over = (top, below) =>
    [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);

  function luminance([red, green, blue]) {
    const linear = [red, green, blue].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  function ratio(first, second) {
    const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  const SHAPES = new Set(["rect", "circle", "ellipse", "path", "polygon"]);

  const UNKNOWN = [NaN, 0, 0, 1];

  // The colours that an element paints the place below a text with: several if it is a pattern.
  function layers(element) {
    const style = getComputedStyle(element);
    if (element instanceof SVGElement && element.localName !== "svg") {
      if (!SHAPES.has(element.localName)) return [];
      const alpha = Number(style.fillOpacity) * Number(style.opacity);
      return painted(style.fill).map(([red, green, blue, own]) => [red, green, blue, own * alpha]);
    }
    return style.backgroundImage === "none" ? [colour(style.backgroundColor)] : [UNKNOWN];
  }

  function painted(paint) {
    if (paint === "none") return [];
    if (!paint.startsWith("url")) return [colour(paint)];
    const pattern = document.getElementById(paint.match(/#([^")]+)/)?.[1]);
    if (pattern?.localName !== "pattern") return [UNKNOWN];
    return [...pattern.children].flatMap((child) => {
      const { fill, stroke } = getComputedStyle(child);
      return [child.localName === "line" ? "none" : fill, stroke].flatMap(painted);
    });
  }

  // The colours that are behind a place, where ``stack`` are the elements there, the uppermost first.
  function behind(stack) {
    const found = [];
    for (const element of stack) {
      const choices = layers(element).filter((each) => each[3] !== 0);
      if (choices.length === 0) continue;
      found.push(choices);
      if (choices.every((each) => each[3] === 1)) break;
    }
    const canvasColour = matchMedia("(prefers-color-scheme: dark)").matches &&
      getComputedStyle(document.documentElement).colorScheme.includes("dark") ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return found.reverse().reduce((below, tops) => below.flatMap((one) => tops.map((top) => over(top, one))), [canvasColour]);
  }

  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);

  // In a picture, shapes lie below the text without being its ancestors.
  function stackBelow(element, box) {
    const picture = element.closest("svg");
    if (!picture) return ancestors(element);
    element.scrollIntoView({ block: "center", inline: "center" });
    const place = box();
    const found = document.elementsFromPoint(place.x + place.width / 2, place.y + place.height / 2);
    const inside = found.filter((each) => picture.contains(each) && !element.contains(each) && each !== picture);
    return [...inside, ...ancestors(picture)];
  }

  function judge(element, text, ink, box) {
    const opacity = ancestors(element).reduce((alpha, each) => alpha * Number(getComputedStyle(each).opacity), 1);
    const own = [ink[0], ink[1], ink[2], ink[3] * opacity];
    const found = Math.min(...behind(stackBelow(element, box)).map((below) => ratio(over(own, below), below)));
    if (found >= 4.5) return [];
    return [`${element.localName}.${element.getAttribute("class") ?? ""} ${JSON.stringify(text.slice(0, 40))}: ` +
      `contrast ${found.toFixed(2)}`];
  }

  const isHidden = (element) =>
    !element.checkVisibility({ visibilityProperty: true }) || element.closest("title, desc, defs, option") !== null;

  function contrast() {
    const wrong = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const text = walker.currentNode.data.trim();
      if (!text || isHidden(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const style = getComputedStyle(element);
      const ink = colour(element instanceof SVGElement ? style.fill : style.color);
      wrong.push(...judge(element, text, ink, () => range.getBoundingClientRect()));
    }
    for (const control of document.querySelectorAll("input:not([type=hidden]), select, textarea, button")) {
      const box = () => control.getBoundingClientRect();
      wrong.push(...judge(control, control.name, colour(getComputedStyle(control).color), box));
      if (control.placeholder) {
        const ink = colour(getComputedStyle(control, "::placeholder").color);
        wrong.push(...judge(control, control.placeholder, ink, box));
      }
    }
    return [...new Set(wrong)];
  }

  function structure() {
    const wrong = [];
    const need = (fine, words) => { if (!fine) wrong.push(words); };
    const all = (selector) => [...document.querySelectorAll(selector)];
    const html = (element) => element.outerHTML.slice(0, 120);
    need(document.documentElement.lang === "en", "the page says no language");
    need(document.title.trim(), "the page has no title");
    need(document.querySelector("meta[name=viewport]"), "the page says nothing of phones");
    for (const selector of ["h1", "main", "body > header, body > * > header"])
      need(all(selector).length === 1, `${all(selector).length} times ${selector}`);
    let level = 0;
    for (const heading of all("h1, h2, h3, h4, h5, h6")) {
      const next = Number(heading.localName[1]);
      need(next <= level + 1, `a level is left out before ${html(heading)}`);
      need(heading.textContent.trim(), `no words: ${html(heading)}`);
      level = next;
    }
    for (const table of all("table")) need(table.caption?.textContent.trim(), `no caption: ${html(table)}`);
    for (const cell of all("th")) need(cell.scope, `no scope: ${html(cell)}`);
    for (const control of all("input:not([type=hidden]), select, textarea"))
      need(control.ariaLabel || [...control.labels].some((label) => label.textContent.trim()), `no label: ${html(control)}`);
    for (const each of all("a, button")) need(each.textContent.trim() || each.ariaLabel, `no name: ${html(each)}`);
    for (const each of all("svg")) {
      const names = (each.getAttribute("aria-labelledby") ?? "").split(" ");
      const isNamed = names.every((id) => id && document.getElementById(id)?.textContent.trim());
      need(each.ariaHidden === "true" || (["img", "group"].includes(each.role) && isNamed), `a picture without a name: ${html(each)}`);
    }
    for (const name of ["aria-labelledby", "aria-describedby", "for"])
      for (const each of all(`[${name}]`))
        for (const id of each.getAttribute(name).split(" ")) need(document.getElementById(id), `${name}=${id}: nothing`);
    const ids = all("[id]").map((each) => each.id);
    for (const id of new Set(ids)) need(ids.filter((each) => each === id).length === 1, `several elements are #${id}`);
    for (const each of all("script:not([src$='/ui/static/live.js'], [src$='/ui/static/copy.js']), iframe, object, embed, [style], [tabindex]:not([tabindex='0'], [tabindex='-1'])"))
      need(false, `not allowed: ${html(each)}`);
    for (const each of all("*"))
      for (const attribute of each.attributes)
        need(!/^on/.test(attribute.name) && (each.localName === "option" || attribute.name === "title" || !/^\s*(javascript|data|vbscript):/i.test(attribute.value)),
          `${attribute.name}: ${html(each)}`);
    return wrong;
  }

  // All that can be scrolled must be within reach of the keyboard, and the page itself is never scrolled sideways.
  function width() {
    const wrong = [];
    const page = document.documentElement;
    if (page.scrollWidth > innerWidth) {
      wrong.push(`the page is ${page.scrollWidth} wide, the window ${innerWidth}`);
      for (const each of document.body.querySelectorAll("*"))
        if (each.getBoundingClientRect().right > innerWidth && !each.closest("[data-scrolls], [tabindex]"))
          wrong.push(`too wide: ${each.outerHTML.slice(0, 100)}`);
    }
    for (const each of document.querySelectorAll("*")) {
      const scrolls = ["auto", "scroll"].includes(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth;
      if (scrolls && each.tabIndex < 0) wrong.push(`out of reach of the keyboard: ${each.outerHTML.slice(0, 100)}`);
      if (scrolls && each.tabIndex >= 0 && !(each.ariaLabel || each.getAttribute("aria-labelledby")))
        wrong.push(`a region without a name: ${each.outerHTML.slice(0, 100)}`);
    }
    return wrong;
  }

  // The element that has the focus: how it is called, and whether it can be seen that it has it.
  function focused() {
    const element = document.activeElement;
    if (element === document.body || element === null) return null;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 &&
      behind(ancestors(element.parentElement)).every((below) => ratio(over(colour(style.outlineColor), below), below) >= 3);
    const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth &&
      box.width > 1 && box.height > 1;
    const name = element.labels?.[0]?.textContent ?? element.ariaLabel ?? element.textContent;
    return { tag: element.localName, name: name.trim().replace(/\s+/g, " "), href: element.getAttribute("href"),
      seen: outlined && inside };
  }

  return { contrast, structure, width, focused };
})()
