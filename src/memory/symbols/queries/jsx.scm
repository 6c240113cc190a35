; Components, which begin with a capital letter; others are elements of the page

(jsx_opening_element name: (identifier) @name (#match? @name "^[A-Z]")) @reference.class
(jsx_opening_element name: (member_expression property: (property_identifier) @name)) @reference.class
(jsx_self_closing_element name: (identifier) @name (#match? @name "^[A-Z]")) @reference.class
(jsx_self_closing_element name: (member_expression property: (property_identifier) @name)) @reference.class
